"""What girih says about graph breaks and recompilations."""

from __future__ import annotations

import dis
import logging
import os
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from girih import log
from girih.errors import UnsupportedError
from girih.frontend.capture.guard import Guard, operand_text
from girih.frontend.capture.resume.origin import origin_of
from girih.frontend.capture.source import Source

_MISSING = object()

_CODE = log.logger("graph_code")
_GUARDS = log.logger("guards")


@dataclass(frozen=True)
class Failure:
    """A guard that did not hold at a call.

    Attributes:
        guard: The guard, as Python text.
        subject: What was checked: the source of the value.
        kind: Its kind, as in ``guard.CHECKS``, or "tensors", "state", "sizes".
        found: What was there instead, or "".
    """

    guard: str
    subject: str
    kind: str
    found: str = ""

    def __str__(self) -> str:
        return f"{self.guard}, but it is {self.found}" if self.found else self.guard


# Which guard failed -------------------------------------------------------------


def failure_of(captured, function, arguments: tuple) -> Failure:
    """The guard of an entry that did not hold when it was last tried.

    Args:
        captured: The entry, a ``CapturedFrame``.
        function: The function that was called.
        arguments: Its bound arguments.
    """
    tree, index = captured.tree, captured.entry.guards.failed
    if index in _TOGETHER:
        return _TOGETHER[index](tree, function, arguments)
    if not 0 <= index < len(tree.records):
        return Failure("a value that the guards read is missing", "", "missing")
    return _failed_record(tree.records[index], function, arguments)


def _failed_record(guard: Guard, function, arguments: tuple) -> Failure:
    found = value_at(guard.source, function, arguments)
    describe = _FOUND.get(guard.kind, lambda value: "")
    text = "missing" if found is _MISSING else describe(found)
    return Failure(str(guard), str(guard.source), guard.kind, text)


def short(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, torch.Tensor):
        return f"a {value.dtype} tensor of shape {tuple(value.shape)}"
    try:
        return operand_text(value)
    except Exception:
        return f"an object of class {type(value).__qualname__}"


_FOUND: dict[str, Callable[[Any], str]] = {
    "is": short,
    "type": lambda value: type(value).__qualname__,
    "equals": short,
    "length": lambda value: str(len(value)),
    "keys": lambda value: short(list(value)),
    "code": short,
    "call": short,
    "same_as": short,
}


def _failed_tensors(tree, function, arguments: tuple) -> Failure:
    """torch's check of all tensors says which one it is, and why."""
    sources = tree.slots[: tree.tensor_count]
    values = [value_at(source, function, arguments) for source in sources]
    for source, value in zip(sources, values, strict=True):
        if not isinstance(value, torch.Tensor):
            return Failure(f"{source} is a tensor", str(source), "type", short(value))
    names = [str(source) for source in sources]
    verbose = getattr(tree.tensor_check, "__self__", None)
    if verbose is None:
        return Failure("the tensors are as they were", "tensors", "tensors")
    reason = verbose.check_verbose(*values, tensor_check_names=names)
    if reason is True:
        return Failure("the tensors are as they were", "tensors", "tensors")
    subject = next((name for name in names if name in str(reason)), "tensors")
    return Failure(str(reason).strip(), subject, "tensors")


def _failed_state(tree, function, arguments: tuple) -> Failure:
    guard = getattr(tree.state_check, "__self__", None)
    what = guard.reason().strip() if guard is not None else ""
    text = "torch's global state is as it was"
    return Failure(text, "torch's global state", "state", what and f"not: {what}")


def _failed_sizes(tree, function, arguments: tuple) -> Failure:
    shapes = []
    for source in tree.slots[: tree.tensor_count]:
        value = value_at(source, function, arguments)
        if isinstance(value, torch.Tensor):
            shapes.append(f"{source}.shape == {tuple(value.shape)}")
    text = "the sizes are related as they were"
    return Failure(text, "sizes", "sizes", ", ".join(shapes))


_TOGETHER = {-2: _failed_tensors, -3: _failed_state, -4: _failed_sizes}


def value_at(source: Source, function, arguments: tuple) -> Any:
    """The value that a source names at a call, or a mark where there is none."""
    if source.base is None:
        if source.access == "local":
            return arguments[source.key]
        return function if source.access == "function" else source.key
    base = value_at(source.base, function, arguments)
    step = _STEPS.get(source.access)
    if base is _MISSING or step is None:
        return _MISSING
    try:
        return step(base, source.key)
    except Exception:
        return _MISSING


def _type_lookup(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return _MISSING


_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "attribute": getattr,
    "dict": lambda base, key: base.__dict__,
    "dict_item": dict.__getitem__,
    "index": lambda base, key: base[key],
    "item": lambda base, key: base[key],
    "cell": lambda base, key: base.cell_contents,
    "closure": lambda base, key: base.__closure__[key],
    "type": lambda base, key: type(base),
    "type_lookup": _type_lookup,
}


# Texts --------------------------------------------------------------------------


def place_of(function) -> str:
    """A function with its file and line."""
    code = function.__code__
    place = f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
    line = _first_line(code)
    return f"{place}, from line {line}" if line else place


def _first_line(code: types.CodeType) -> int | None:
    """The line where code made after a graph break goes on; None for other code."""
    origin = origin_of(code)
    if origin is None:
        return None
    instructions = list(dis.get_instructions(origin.code))
    position = instructions[origin.target].positions
    return position.lineno if position else None


def recompilation(function, failures: list[Failure]) -> str:
    """Why a function is compiled again, given the failure of each entry."""
    head = f"{place_of(function)} is compiled again, as entry {len(failures) + 1}"
    return "\n".join([head, *_misfits(failures)])


def refused(function, failures: list[Failure]) -> str:
    """That a call needs compilation, which the stance forbids."""
    text = f"a recompile of {place_of(function)}, and the stance is fail_on_recompile"
    lines = [text, *_misfits(failures)]
    if not failures:
        lines.append("  It was never compiled.")
    return "\n".join(lines)


def _misfits(failures: list[Failure]) -> list[str]:
    numbered = enumerate(reversed(failures), 1)
    return [f"  entry {number} does not fit: {text}" for number, text in numbered]


def limit_reached(function, limit: int, history: list[Failure]) -> str:
    """The warning that a function is not compiled any more.

    Args:
        function: The function.
        limit: How many entries it has.
        history: Of each attempt, oldest first, the guard that failed.
    """
    lines = [
        f"{place_of(function)} was compiled {limit} times, which is the limit; calls "
        "that fit none of the entries run as plain Python from now on.",
        "  These guards kept failing:",
    ]
    for failures in _grouped(history):
        count = len(failures)
        times = "once" if count == 1 else f"{count} times"
        lines.append(f"    {failures[0].subject}, {times}:")
        lines.extend(f"      {failure}" for failure in failures)
        hint = _hint(failures[0])
        lines.extend([f"      hint: {hint}"] if hint else [])
    lines.append(
        "  The limit is the option 'recompile_limit', or GIRIH_RECOMPILE_LIMIT."
    )
    return "\n".join(lines)


def _grouped(history: list[Failure]) -> list[list[Failure]]:
    """The failures of one guard together, the most frequent first."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in history:
        groups.setdefault((failure.subject, failure.kind), []).append(failure)
    return sorted(groups.values(), key=len, reverse=True)


_SIZES_HINT = (
    "if the sizes vary, compile with dynamic=True, or call "
    "girih.mark_dynamic(tensor, dim) on the input."
)

_HINTS = {
    "type": "pass values of the same types, or compile one function for each.",
    "is": "the object is another one at each call: make it once, outside the function.",
    "code": "the function is another one at each call: define it once, outside.",
    "length": "a list whose length varies can be stacked to one tensor.",
    "keys": "use the same keys, in the same order, at each call.",
    "contains": "use the same keys at each call.",
    "absent": "use the same keys at each call.",
    "sizes": _SIZES_HINT,
    "state": "call it in the same mode (grad, autocast), or compile one for each.",
}
_NUMBER_HINT = "a number that varies can be passed as a tensor, or used outside."
_VALUE_HINT = "each value is compiled for itself: use fewer, or raise the limit."


def _hint(failure: Failure) -> str:
    if failure.kind == "tensors":
        is_size = "size mismatch" in failure.guard or "stride" in failure.guard
        return _SIZES_HINT if is_size else "pass tensors of the same kind at each call."
    if failure.kind == "equals":
        is_number = re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", failure.found)
        return _NUMBER_HINT if is_number else _VALUE_HINT
    return _HINTS.get(failure.kind, "")


def graph_break(function, error: UnsupportedError) -> str:
    """A graph break, or a function that can't be captured."""
    return f"in {place_of(function)}:\n  " + str(error).replace("\n", "\n  ")


# Graphs and guards ---------------------------------------------------------------


def log_capture(function, captured) -> None:
    """Logs the guards and the graph of an entry that was made."""
    if _GUARDS.isEnabledFor(logging.INFO):
        lines = "\n  ".join(guard_lines(captured))
        _GUARDS.info("guards of %s:\n  %s", place_of(function), lines)
    if _CODE.isEnabledFor(logging.INFO) and captured.graph is not None:
        graph = readable(captured).replace("\n", "\n  ")
        code = captured.code.replace("\n", "\n  ")
        text = "graph of %s:\n  %s\nthe code around it:\n  %s"
        _CODE.info(text, place_of(function), graph, code)


def readable(captured) -> str:
    """A graph as text: one operation a line, with its result and the user's line."""
    if captured.graph is None:
        return ""
    rows = []
    for node in captured.graph.graph.nodes:
        if node.op == "placeholder":
            source = captured.tree.slots[len(rows)]
            rows.append((f"{node.name} = {source}", _described(node), ""))
        elif node.op == "output":
            rows.append((f"return {_text_of(node.args[0])}", "", ""))
        else:
            rows.append(
                (f"{node.name} = {_call_text(node)}", _described(node), _line(node))
            )
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(
        f"{code:{widths[0]}}  # {what:{widths[1]}}  {line}".rstrip(" #")
        for code, what, line in rows
    )


def _described(node: torch.fx.Node) -> str:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        sizes = ", ".join(map(str, value.shape))
        return f"{str(value.dtype).removeprefix('torch.')}[{sizes}]"
    return "" if value is None else str(value)


def _line(node: torch.fx.Node) -> str:
    file, line, _ = node.meta.get("girih_location", ("", 0, ""))
    return f"{os.path.basename(file)}:{line}" if file else ""


def _call_text(node: torch.fx.Node) -> str:
    arguments = [_text_of(arg) for arg in node.args]
    arguments += [f"{key}={_text_of(value)}" for key, value in node.kwargs.items()]
    if node.op == "call_method":
        return f"{arguments[0]}.{node.target}({', '.join(arguments[1:])})"
    name = getattr(node.target, "__name__", str(node.target))
    module = getattr(node.target, "__module__", None) or ""
    prefix = (
        "torch." if module.startswith(("torch", "")) and hasattr(torch, name) else ""
    )
    return f"{prefix}{name}({', '.join(arguments)})"


def _text_of(argument: Any) -> str:
    if isinstance(argument, (tuple, list)):
        inner = ", ".join(_text_of(item) for item in argument)
        return f"[{inner}]" if isinstance(argument, list) else f"({inner},)"
    return str(argument) if isinstance(argument, torch.fx.Node) else repr(argument)


def guard_lines(captured) -> list[str]:
    """All that has to hold for an entry to be used, one condition a line."""
    lines = [str(guard) for guard in captured.tree.records]
    lines += [f"{source} is {kind}" for source, kind in _tensor_guards(captured)]
    return [*lines, "torch's global state is as it was"]


def _tensor_guards(captured):
    tree = captured.tree
    nodes = [] if captured.graph is None else captured.graph.graph.nodes
    inputs = [node for node in nodes if node.op == "placeholder"]
    for index, source in enumerate(tree.slots[: tree.tensor_count]):
        known = _described(inputs[index]) if index < len(inputs) else ""
        yield source, f"a tensor {known}".rstrip()
