"""What operators ask of their operands."""

from __future__ import annotations

from collections import deque
from typing import Any

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.lookup import MISSING
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue, builtin_part
from girih.frontend.capture.values.outside import OutsideValue
from girih.frontend.capture.values.sequence import SequenceValue, TupleValue
from girih.frontend.capture.values.set import SetValue

PLAIN_NUMBERS = (int, float, complex, type(None))
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
_NO_NUMBERS = (SequenceValue, DictValue, SetValue, DequeValue, ObjectValue)


def check_followed(*operands: Value) -> None:
    """Leaves operators of objects that nobody follows to Python."""
    for operand in operands:
        if isinstance(operand, OutsideValue):
            operand.used(" is an operand")


def example_of(value: Value) -> Any:
    """An object of a class of the same name; MISSING where none is simple."""
    part = builtin_part(value)
    if isinstance(part, Constant):
        content, cls = (part.value,), type(part.value)
    elif part.python_type() in CONTAINERS:
        content, cls = (), part.python_type()
    else:
        return MISSING
    if value is part:
        return content[0] if content else cls()
    return type(value.cls.__name__, (cls,), {})(*content)


def may_take(owner: Value, special: str, other: Value) -> bool:
    """Whether a builtin's own operator, of a value or its class, may take another."""
    method = getattr(owner.python_type(), special, None)
    part = builtin_part(other)
    if method is None or not isinstance(owner, Constant):
        return method is not None
    if not isinstance(part, Constant):
        is_number = isinstance(owner.value, PLAIN_NUMBERS)
        return not (is_number and isinstance(part, _NO_NUMBERS))
    try:
        return method(owner.value, part.value) is not NotImplemented
    except Exception:  # of the data: it is the program's
        return True


def is_empty_tuple(value: Value) -> bool:
    """Whether this is the one empty tuple that there is."""
    return isinstance(value, TupleValue) and value.cls is tuple and not value.items


def compare_by_identity(left: Value, right: Value) -> bool:
    """Whether ``==`` means ``is`` for both."""
    classes = (left.python_type(), right.python_type())
    return all(cls.__eq__ is object.__eq__ for cls in classes)
