"""What Python does with the special methods of a class, where it calls them itself.

``len(x)`` is not ``type(x).__len__(x)``: the interpreter looks the method up, knows
what to do without one or with None in its place, and checks what it returned.

Source: https://github.com/python/cpython/blob/3.12/Objects/typeobject.c (``slot_...``)
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.lookup import MISSING
from girih.frontend.capture.values.symbol import SymbolValue
from girih.frontend.capture.values.tensor import TensorValue


class SpecialMethods(Value):
    """Mixin of objects whose class may define special methods.

    Attributes:
        cls: The class.
    """

    cls: type

    def bind_special(self, tracer, name: str, member: Any) -> Value:
        """``type(self).name``, bound to the object."""
        raise NotImplementedError(type(self).__name__)

    def special(self, tracer, name: str) -> Any:
        """What the class defines under a name; MISSING without. Guarded."""
        member, owner = tracer.lookup(self.cls, name)
        if member is MISSING or member is None or owner is object:
            return None if member is None else MISSING
        return member

    def call_special(self, tracer, name: str, args: list[Value]) -> Value | None:
        """``type(self).name(self, *args)``, or None where the class has none."""
        member = self.special(tracer, name)
        if member is MISSING:
            return None
        if member is None:
            tracer.throw(TypeError, "'NoneType' object is not callable")
        if isinstance(member, types.FunctionType):
            function = tracer.class_member(self.cls, name)
            return tracer.call(function, [self, *args], {})
        return tracer.call(self.bind_special(tracer, name, member), args, {})

    def call_checked(self, tracer, name: str, cls: type, args=()) -> Value | None:
        """The same, for a method that has to return an object of a class."""
        found = self.call_special(tracer, name, list(args))
        if found is not None and not issubclass(found.python_type(), cls):
            wrong = stand_in(found.python_type())
            like = stand_in(self.cls, **{name: lambda *args: wrong})
            tracer.fold_raw(_CALLERS[name], like)  # raises
        return found

    def call_comparison(self, tracer, name: str, other: Value) -> Value | None:
        """A comparison; None where the class leaves it to the other operand."""
        found = self.call_special(tracer, name, [other])
        if found is None and name == "__ne__":
            found = self.call_special(tracer, "__eq__", [other])
            if found is not None and not is_not_implemented(found):
                return tracer.constant(not found.truth(tracer))
        return None if found is None or is_not_implemented(found) else found

    def truth(self, tracer) -> bool:
        """``__bool__``, else ``__len__``, else True."""
        found = self.call_checked(tracer, "__bool__", bool)
        if found is not None:
            return found.truth(tracer)
        size = self._size(tracer)
        return True if size is None else size.truth(tracer)

    def length(self, tracer) -> int:
        """``__len__``."""
        size = self._size(tracer)
        return super().length(tracer) if size is None else size.as_python()

    def _size(self, tracer) -> Value | None:
        found = self.call_special(tracer, "__len__", [])
        if found is None:
            return None
        size = as_integer(tracer, found)
        is_negative = tracer.compare(operator.lt, size, tracer.constant(0))
        if is_negative.truth(tracer):
            tracer.throw(ValueError, "__len__() should return >= 0")
        return size

    def iterate(self, tracer):
        """``__iter__``."""
        iterator = tracer.iterator(self)
        while (item := tracer.next_of(iterator)) is not None:
            yield item

    def contains(self, tracer, item) -> bool:
        """``__contains__``, else iteration."""
        if self.special(tracer, "__contains__") is None:
            kind = self.cls.__name__
            tracer.throw(TypeError, f"'{kind}' object is not a container")
        found = self.call_special(tracer, "__contains__", [item])
        if found is None:
            return contains_by_iteration(tracer, self, item)
        return found.truth(tracer)

    def get_item(self, tracer, key):
        """``__getitem__``."""
        found = self.call_special(tracer, "__getitem__", [key])
        return found if found is not None else super().get_item(tracer, key)

    def set_item(self, tracer, key, value):
        """``__setitem__``."""
        if self.call_special(tracer, "__setitem__", [key, value]) is None:
            super().set_item(tracer, key, value)

    def delete_item(self, tracer, key):
        """``__delitem__``."""
        if self.call_special(tracer, "__delitem__", [key]) is None:
            super().delete_item(tracer, key)


# What calls a special method, and says so where the result is of a wrong class.
_CALLERS = {
    "__bool__": bool,
    "__complex__": complex,
    "__float__": float,
    "__format__": format,
    "__hash__": hash,
    "__index__": operator.index,
    "__int__": int,
    "__repr__": repr,
    "__str__": str,
}


def is_not_implemented(value: Value) -> bool:
    """Whether a method answered that it knows nothing of the other operand."""
    return isinstance(value, Constant) and value.value is NotImplemented


def stand_in(cls: type, **content: Any) -> Any:
    """An object without special methods, whose class has the name of another.

    What Python says of it is what it says of an object that lacks a method.
    """
    return type(cls.__name__, (), {"__module__": cls.__module__, **content})()


def counted_items(tracer, value: Value) -> Iterator[Value]:
    """The items, one by one, as ``list(value)`` takes them.

    It asks an object how many items there may be.
    """
    if not isinstance(value, SpecialMethods):
        counted = getattr(value, "counted", None)
        if isinstance(counted, SpecialMethods):
            _size_or_none(tracer, counted)
        yield from tracer.iterate(value)
        return
    iterator = tracer.iterator(value)
    _ask_for_length(tracer, value)
    while (item := tracer.next_of(iterator)) is not None:
        yield item


def listed(tracer, value: Value) -> list[Value]:
    """``list(value)``."""
    return list(counted_items(tracer, value))


def fast_sequence(tracer, value: Value, not_iterable: Callable[[], Any]) -> list[Value]:
    """The items, as C code takes them from any iterable for a list or a tuple.

    It calls ``list(iter(value))``, and ``list`` calls ``__iter__`` of the iterator.

    Args:
        tracer: The tracer.
        value: What is read.
        not_iterable: Raises the caller's own error in place of a TypeError of ``iter``.

    Source: https://docs.python.org/3/c-api/sequence.html#c.PySequence_Fast
    """
    try:
        iterator = tracer.iterator(value)
    except Raised as raised:
        if issubclass(raised.value.python_type(), TypeError):
            not_iterable()
        raise
    return listed(tracer, iterator)


def _size_or_none(tracer, value: SpecialMethods):
    """The length; None where there is none, or a TypeError in its place."""
    try:
        return value._size(tracer)
    except Raised as raised:
        if not issubclass(raised.value.python_type(), TypeError):
            raise
    return None


def _ask_for_length(tracer, value: SpecialMethods) -> None:
    """What ``operator.length_hint`` does: of errors, a TypeError is no answer."""
    if _size_or_none(tracer, value) is not None:
        return
    try:
        hint = value.call_special(tracer, "__length_hint__", [])
    except Raised as raised:
        if not issubclass(raised.value.python_type(), TypeError):
            raise
        return
    if hint is None or is_not_implemented(hint):
        return
    if not issubclass(hint.python_type(), int):
        kind = hint.python_type().__name__
        tracer.throw(TypeError, f"__length_hint__ must be an integer, not {kind}")
    if tracer.compare(operator.lt, hint, tracer.constant(0)).truth(tracer):
        tracer.throw(ValueError, "__length_hint__() should return >= 0")


def contains_by_iteration(tracer, value: Value, item: Value) -> bool:
    """``item in value``, for a class without ``__contains__``."""
    try:
        iterator = tracer.iterator(value)
    except Raised as raised:
        if not issubclass(raised.value.python_type(), TypeError):
            raise
        kind = value.python_type().__name__
        tracer.throw(TypeError, f"argument of type '{kind}' is not iterable")
    while (own := tracer.next_of(iterator)) is not None:
        if tracer.equal(own, item):
            return True
    return False


def as_integer(tracer, value: Value) -> Value:
    """``operator.index(value)``: an int, or a symbol of one."""
    found: Value | None = value
    if isinstance(getattr(value, "base", None), Constant):
        found = value.base  # an int is one, whatever its `__index__`
    elif isinstance(value, SpecialMethods):
        found = value.call_checked(tracer, "__index__", int)
    if isinstance(found, SymbolValue) and found.python_type() is int:
        return found
    if isinstance(found, TensorValue):
        return found.call_method(tracer, "__index__", [], {})
    if found is None:
        kind = value.python_type().__name__
        text = f"'{kind}' object cannot be interpreted as an integer"
        tracer.throw(TypeError, text)
    return tracer.fold(operator.index, tracer.known(found).as_python())


def hash_of(tracer, value: SpecialMethods) -> int | None:
    """What ``__hash__`` of the class gives, as ``hash()`` returns it."""
    if value.special(tracer, "__hash__") is None:
        tracer.throw(TypeError, f"unhashable type: '{value.cls.__name__}'")
    found = value.call_checked(tracer, "__hash__", int)
    if found is None:
        return None
    return hash(_Hashed(int(found.as_python())))


class _Hashed:
    """An object whose hash is given: what is too large Python makes smaller."""

    def __init__(self, number: int):
        self.number = number

    def __hash__(self) -> int:
        return self.number
