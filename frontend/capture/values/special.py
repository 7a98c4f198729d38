"""Operators called by name: ``list.__add__(a, b)``, ``a.__eq__(b)``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from girih.frontend.capture.values.base import Value

_ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "matmul": operator.matmul,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
COMPARISONS = {
    f"__{name}__": getattr(operator, name)
    for name in ("lt", "le", "eq", "ne", "gt", "ge")
}
BINARY = {f"__{name}__": function for name, function in _ARITHMETIC.items()}
REFLECTED = {f"__r{name}__": function for name, function in _ARITHMETIC.items()}
IN_PLACE = {f"__i{name}__": function for name, function in _ARITHMETIC.items()}
OPERATORS = frozenset((*BINARY, *REFLECTED, *IN_PLACE, *COMPARISONS))


def call_operator(tracer, owner: Value, name: str, args: list[Value]) -> Value | None:
    """What an operator's method of a builtin container does; None for other methods.

    The method answers ``NotImplemented`` for a container of another kind.
    """
    if len(args) != 1 or name not in OPERATORS:
        return None
    other = args[0]
    if name in COMPARISONS:
        if not _is_same_kind(owner, other):
            return tracer.constant(NotImplemented)
        return tracer.compare(COMPARISONS[name], owner, other)
    return _call_arithmetic(tracer, owner, name, other)


def _call_arithmetic(tracer, owner: Value, name: str, other: Value) -> Value:
    takes_any = name == "__ior__" and issubclass(owner.python_type(), dict)
    if issubclass(owner.python_type(), (dict, set, frozenset)) and not takes_any:
        if not _is_same_kind(owner, other):
            return tracer.constant(NotImplemented)
    if name in REFLECTED:
        return tracer.binary(REFLECTED[name], other, owner)
    function = BINARY.get(name) or IN_PLACE[name]
    return tracer.binary(function, owner, other, in_place=name in IN_PLACE)


def _is_same_kind(owner: Value, other: Value) -> bool:
    kinds: tuple[Any, ...] = (list, tuple, dict, (set, frozenset))
    classes = (owner.python_type(), other.python_type())
    return any(all(issubclass(cls, kind) for cls in classes) for kind in kinds)
