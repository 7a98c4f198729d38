"""Which guard of an entry did not hold at a call, and what was there instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from girih.frontend.capture.guard import Guard, operand_text
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.symbol import is_same

_MISSING = object()

# What Python computed from numbers has to be as it was.
COMPUTED = "computed"

# Guards that compare with an object. Two objects may have one text.
_BY_IDENTITY = frozenset(("is", "type", "code", "class", "call"))


@dataclass(frozen=True)
class Failure:
    """A guard that did not hold at a call.

    Attributes:
        guard: The guard, as Python text.
        subject: What was checked: the source of the value.
        kind: Its kind, as in ``guard.CHECKS``, or "tensors", "state", "sizes",
            "computed".
        found: What was there instead, or "".
        identity: Tells operands apart that have one text; 0 where the text is enough.
    """

    guard: str
    subject: str
    kind: str
    found: str = ""
    identity: int = 0

    def __str__(self) -> str:
        if not self.found:
            return self.guard
        it = "" if self.kind in ("class", "sizes", COMPUTED) else "it is "
        return f"{self.guard}, but {it}{self.found}"


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
    if guard.kind == "class" and isinstance(found, type):
        return _changed_class(guard, found)
    describe = _FOUND.get(guard.kind, lambda value: "")
    text = "missing" if found is _MISSING else describe(found)
    identity = id(guard.operand) if guard.kind in _BY_IDENTITY else 0
    return Failure(str(guard), str(guard.source), guard.kind, text, identity)


def differs(guard: Guard, function, arguments: tuple) -> bool:
    """Whether a guard on a number, text or length does not hold at a call."""
    found = value_at(guard.source, function, arguments)
    if found is _MISSING:
        return True
    if guard.kind == "length":
        return len(found) != guard.operand
    if guard.kind == "keys":
        return list(found) != list(guard.operand)
    return type(found) is not type(guard.operand) or found != guard.operand


def _changed_class(guard: Guard, cls: type) -> Failure:
    names = ", ".join(guard.operand.differences(cls))
    text = f"these attributes of {guard.source} are unchanged: {names}"
    found = "the program changed them"
    return Failure(text, str(guard.source), guard.kind, found, id(guard.operand))


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
        return Failure(
            "the tensors have the metadata that the graph was compiled for",
            "tensors",
            "tensors",
        )
    reason = verbose.check_verbose(*values, tensor_check_names=names)
    if reason is True:
        return Failure(
            "the tensors have the metadata that the graph was compiled for",
            "tensors",
            "tensors",
        )
    subject = next((name for name in names if name in str(reason)), "tensors")
    return Failure(str(reason).strip(), subject, "tensors")


def _failed_state(tree, function, arguments: tuple) -> Failure:
    text = f"torch's global state is unchanged, but {tree.state_check.reason()} differs"
    return Failure(text, "torch's global state", "state")


def _failed_numbers(tree, function, arguments: tuple) -> Failure:
    """The first condition on sizes and numbers that does not hold."""
    values = [value_at(source, function, arguments) for source in tree.slots]
    slots = {f"s{index}": value for index, value in enumerate(values)}
    for test, text in number_tests(tree):
        code = compile(ast.Expression(test), "<girih guard>", "eval")
        try:
            holds = eval(code, tree.shape_check.__globals__, slots)
        except Exception:
            holds = False
        if not holds:
            found = _sizes_in(test, tree, slots)
            subject = ", ".join(found) or text
            found = ", ".join(f"{name} is {it}" for name, it in found.items())
            kind = COMPUTED if text.startswith(f"{is_same.__name__}(") else "sizes"
            return Failure(text, subject, kind, found)
    return Failure("the sizes meet the conditions of the graph", "sizes", "sizes")


def _sizes_in(test: ast.expr, tree, slots: dict[str, Any]) -> dict[str, str]:
    """The shapes and numbers that a condition is about, by their sources."""
    found = {}
    for index, source in enumerate(tree.slots):
        value = slots[f"s{index}"]
        if any(isinstance(n, ast.Name) and n.id == f"s{index}" for n in ast.walk(test)):
            is_tensor = isinstance(value, torch.Tensor)
            text = f"of shape {tuple(value.shape)}" if is_tensor else short(value)
            found[str(source)] = text
    return found


def number_tests(tree) -> list[tuple[ast.expr, str]]:
    """The conditions on sizes and numbers: with slots, and as text with sources."""
    if tree.shape_check is None:
        return []
    condition = ast.parse(tree.shape_check.__qualname__, mode="eval").body
    tests = condition.values if isinstance(condition, ast.BoolOp) else [condition]
    names = {f"s{index}": str(source) for index, source in enumerate(tree.slots)}
    held = tree.shape_check.__globals__

    def named(found: re.Match) -> str:
        name = found[0]
        return names[name] if name in names else operand_text(held[name])

    return [
        (test, re.sub(r"\b[sc]\d+\b", named, ast.unparse(test)))
        for test in tests
        if not isinstance(test, ast.Constant)
    ]


# Negative values of Guards.failed, see _guards.c.
_TOGETHER = {-2: _failed_tensors, -3: _failed_state, -4: _failed_numbers}


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
    "referent": lambda base, key: base(),
    "type": lambda base, key: type(base),
    "type_lookup": _type_lookup,
}
