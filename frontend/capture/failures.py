"""Which guard of an entry did not hold at a call, and what was there instead."""

from __future__ import annotations

import ast
import re
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
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
    values = Values(tree, function, arguments)
    if index in _TOGETHER:
        return _TOGETHER[index](tree, values)
    if not 0 <= index < len(tree.records):
        return Failure("a value that the guards read is missing", "", "missing")
    return _failed_record(tree.records[index], values)


def _failed_record(guard: Guard, values: Values) -> Failure:
    found = values.at(guard.source)
    if guard.kind == "class" and isinstance(found, type):
        return _changed_class(guard, found)
    describe = _FOUND.get(guard.kind, lambda value: "")
    text = "missing" if found is _MISSING else describe(found)
    identity = id(guard.operand) if guard.kind in _BY_IDENTITY else 0
    return Failure(str(guard), str(guard.source), guard.kind, text, identity)


def differ(tree, guards: Iterable[Guard], function, arguments: tuple) -> bool:
    """Whether one of some guards on numbers, texts and lengths does not hold.

    Args:
        tree: The ``GuardTree`` of an entry.
        guards: Some of its guards, whether or not those before them hold.
        function: The function that was called.
        arguments: Its bound arguments.
    """
    values = Values(tree, function, arguments)
    return any(_differs(guard, values) for guard in guards)


def _differs(guard: Guard, values: Values) -> bool:
    found = values.at(guard.source)
    if found is _MISSING:
        return True
    if guard.kind == "length":
        is_known = values.is_expected(guard.source)
        return _length(found, is_known) != guard.operand
    if guard.kind == "keys":
        return not _has_keys(found, guard.operand)
    return not is_same(found, guard.operand)


def _length(value: Any, may_ask: bool = False) -> int | None:
    """The length that a guard compares, or None.

    Args:
        value: Anything.
        may_ask: The program's own ``__len__`` may run.
    """
    for cls in (dict, list, tuple):
        if isinstance(value, cls):
            return cls.__len__(value)
    method = getattr(type(value), "__len__", None)
    if method is None or not may_ask and isinstance(method, types.FunctionType):
        return None
    try:
        return len(value)
    except Exception:
        return None


def _has_keys(value: Any, keys: tuple) -> bool:
    if not isinstance(value, dict) or dict.__len__(value) != len(keys):
        return False
    pairs = zip(dict.keys(value), keys, strict=True)
    try:
        return all(a is b or (type(a) is type(b) and a == b) for a, b in pairs)
    except Exception:  # of the program's own comparison
        return False


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


def _length_text(value: Any) -> str:
    length = _length(value)
    return short(value) if length is None else str(length)


def _keys_text(value: Any) -> str:
    return short(list(dict.keys(value)) if isinstance(value, dict) else value)


_FOUND: dict[str, Callable[[Any], str]] = {
    "is": short,
    "type": lambda value: type(value).__qualname__,
    "equals": short,
    "length": _length_text,
    "keys": _keys_text,
    "code": short,
    "call": short,
    "same_as": short,
}


def _failed_tensors(tree, at_call: Values) -> Failure:
    """torch's check of all tensors says which one it is, and why."""
    sources = tree.slots[: tree.tensor_count]
    values = [at_call.at(source) for source in sources]
    for source, value in zip(sources, values, strict=True):
        if not isinstance(value, torch.Tensor):
            found = "missing" if value is _MISSING else short(value)
            return Failure(f"{source} is a tensor", str(source), "type", found)
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


def _failed_state(tree, values: Values) -> Failure:
    text = f"torch's global state is unchanged, but {tree.state_check.reason()} differs"
    return Failure(text, "torch's global state", "state")


def _failed_numbers(tree, values: Values) -> Failure:
    """The first condition on sizes and numbers that does not hold."""
    found = map(values.at, tree.slots)
    slots = {f"s{index}": value for index, value in enumerate(found)}
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


class Values:
    """What sources name at a call.

    The walk over the guards checks a value before it goes on from there. Here, too, no
    path leads on from a value of another type than at the capture: its attributes and
    items could be anything, and reading them could run the program's code.

    Args:
        tree: The ``GuardTree`` of an entry.
        function: The function that was called.
        arguments: Its bound arguments.
    """

    def __init__(self, tree, function, arguments: tuple):
        self._function = function
        self._arguments = arguments
        self._expected = [
            {g.source: g.operand for g in tree.records if g.kind == kind}
            for kind in ("type", "is")
        ]
        self._found: dict[Source, Any] = {}

    def at(self, source: Source) -> Any:
        """The value, or a mark where there is none."""
        if source not in self._found:
            self._found[source] = self._fetch(source)
        return self._found[source]

    def is_expected(self, source: Source) -> bool:
        """Whether the guards on its type and identity hold for a value."""
        value, (types_, objects) = self.at(source), self._expected
        if value is _MISSING or type(value) is not types_.get(source, type(value)):
            return False
        return value is objects.get(source, value)

    def _fetch(self, source: Source) -> Any:
        if source.base is None:
            if source.access == "local":
                return self._arguments[source.key]
            return self._function if source.access == "function" else source.key
        step = _STEPS.get(source.access)
        if step is None or not self.is_expected(source.base):
            return _MISSING
        try:
            return step(self.at(source.base), source.key)
        except Exception:
            return _MISSING


def _type_lookup(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return _MISSING


def _index(sequence: list | tuple, index: int) -> Any:
    cls = list if isinstance(sequence, list) else tuple
    return cls.__getitem__(sequence, index)


def _cell(function: types.FunctionType, index: int) -> types.CellType:
    return types.FunctionType.__closure__.__get__(function)[index]


def _key_at(base: dict, index: int) -> Any:
    is_plain = type(base) is dict or type(base) is OrderedDict
    return list(base)[index] if is_plain else _MISSING


# As reach() in _guards.c. Those of items of a dict and a sequence run no method of a
# subclass: a defaultdict would get a key.
_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "attribute": getattr,
    "dict": lambda base, key: base.__dict__,
    "dict_item": lambda base, key: dict.get(base, key, _MISSING),
    "index": _index,
    "item": lambda base, key: base[key],
    "key_at": _key_at,
    "value_at": lambda base, key: dict.get(base, _key_at(base, key), _MISSING),
    "cell": lambda base, key: types.CellType.cell_contents.__get__(base),
    "closure": _cell,
    "referent": lambda base, key: weakref.ref.__call__(base),
    "type": lambda base, key: type(base),
    "type_lookup": _type_lookup,
}
