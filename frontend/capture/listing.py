"""Graphs and guards of an entry as text."""

from __future__ import annotations

import logging
import operator
import os
from typing import Any

import torch

from girih import log
from girih.frontend.capture.failures import number_tests
from girih.frontend.capture.messages import place_of

_CODE = log.logger("graph_code")
_GUARDS = log.logger("guards")


def log_capture(call, captured) -> None:
    """Logs the guards and the graph of an entry that was made."""
    if _GUARDS.isEnabledFor(logging.INFO):
        lines = "\n  ".join(guard_lines(captured))
        _GUARDS.info("guards of %s:\n  %s", place_of(call), lines)
    if _CODE.isEnabledFor(logging.INFO) and captured.graph is not None:
        graph = readable(captured).replace("\n", "\n  ")
        code = captured.code.replace("\n", "\n  ")
        text = "graph of %s:\n  %s\nthe code around it:\n  %s"
        _CODE.info(text, place_of(call), graph, code)


_WIDEST = 80  # of a column; longer lines stand out


def readable(captured) -> str:
    """A graph as text: one operation a line, with its result and the user's line."""
    if captured.graph is None:
        return ""
    rows = []
    for node in captured.graph.graph.nodes:
        if node.op == "placeholder":
            source = node.meta.get("girih_source") or "..."
            rows.append(
                (f"{node.name} = {source}", _described(node.meta.get("val")), "")
            )
        elif node.op == "output":
            rows.append((f"return {_text_of(node.args[0])}", "", ""))
        else:
            rows.append(
                (
                    f"{node.name} = {_call_text(node)}",
                    _described(node.meta.get("val")),
                    _line(node),
                )
            )
    widths = [
        max(
            (len(row[column]) for row in rows if len(row[column]) <= _WIDEST), default=0
        )
        for column in (0, 1)
    ]
    return "\n".join(
        f"{code:{widths[0]}}  # {what:{widths[1]}}  {line}".rstrip(" #")
        for code, what, line in rows
    )


def _described(value: Any) -> str:
    """An example value: type and sizes of tensors."""
    if isinstance(value, torch.Tensor):
        sizes = ", ".join(map(str, value.shape))
        return f"{str(value.dtype).removeprefix('torch.')}[{sizes}]"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_described(item) for item in value)})"
    return "" if value is None else str(value)


def _line(node: torch.fx.Node) -> str:
    file, line, _ = node.meta.get("girih_location", ("", 0, ""))
    return f"{os.path.basename(file)}:{line}" if file else ""


def _call_text(node: torch.fx.Node) -> str:
    arguments = [_text_of(arg) for arg in node.args]
    arguments += [f"{key}={_text_of(value)}" for key, value in node.kwargs.items()]
    if node.op == "call_method":
        return f"{arguments[0]}.{node.target}({', '.join(arguments[1:])})"
    if node.target is operator.getitem:
        return f"{arguments[0]}[{arguments[1]}]"
    if node.target in _SYMBOLS:
        return f"{arguments[0]} {_SYMBOLS[node.target]} {arguments[1]}"
    return f"{_name_of(node.target)}({', '.join(arguments)})"


def _name_of(target: Any) -> str:
    name = getattr(target, "__name__", None) or str(target)
    for prefix, namespace in _NAMESPACES.items():
        if getattr(namespace, name, None) is target:
            return f"{prefix}.{name}"
    return str(target) if isinstance(target, _OPERATORS) else name


_SYMBOLS = {
    operator.add: "+",
    operator.and_: "&",
    operator.eq: "==",
    operator.floordiv: "//",
    operator.ge: ">=",
    operator.gt: ">",
    operator.le: "<=",
    operator.lshift: "<<",
    operator.lt: "<",
    operator.matmul: "@",
    operator.mod: "%",
    operator.mul: "*",
    operator.ne: "!=",
    operator.or_: "|",
    operator.pow: "**",
    operator.rshift: ">>",
    operator.sub: "-",
    operator.truediv: "/",
    operator.xor: "^",
}
_NAMESPACES = {
    "torch": torch,
    "F": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.special": torch.special,
    "torch.fft": torch.fft,
    "torch._C._nn": torch._C._nn,
    "operator": operator,
}
_OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)


def _text_of(argument: Any) -> str:
    if type(argument) in (tuple, list):
        inner = ", ".join(_text_of(item) for item in argument)
        if isinstance(argument, list):
            return f"[{inner}]"
        return f"({inner},)" if len(argument) == 1 else f"({inner})"
    return str(argument) if isinstance(argument, torch.fx.Node) else repr(argument)


def guard_lines(captured) -> list[str]:
    """All that has to hold for an entry to be used, one condition a line."""
    lines = [str(guard) for guard in captured.tree.records]
    lines += [f"{source} is {kind}" for source, kind in _tensor_guards(captured)]
    lines += [text for _, text in number_tests(captured.tree)]
    return [*lines, "torch's global state is unchanged"]


def _tensor_guards(captured):
    tree = captured.tree
    nodes = [] if captured.graph is None else captured.graph.graph.nodes
    inputs = [node for node in nodes if node.op == "placeholder"]
    for index, source in enumerate(tree.slots[: tree.tensor_count]):
        known = _described(inputs[index].meta.get("val")) if index < len(inputs) else ""
        yield source, f"a tensor {known}".rstrip()
