"""Traced values as keys of dicts and members of sets."""

from __future__ import annotations

import types
from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture.values.base import NotConstant, Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.lookup import static_lookup
from girih.frontend.capture.values.number import RunTimeNumber
from girih.frontend.capture.values.outside import WeakReferenceValue
from girih.frontend.capture.values.protocols import hash_of
from girih.frontend.capture.values.sequence import TupleValue
from girih.frontend.capture.values.tensor import TensorValue


class Key:
    """A traced value as the key of a Python dict.

    Keys compare like the Python objects that they stand for.
    """

    __slots__ = ("value", "python")

    def __init__(self, value: Value, python: Any = None):
        self.value = value
        self.python = hashable(value) if python is None else python

    def __hash__(self) -> int:
        return hash(self.python)

    def __eq__(self, other) -> bool:
        return self.python is other.python or self.python == other.python


def key_of(tracer, value: Value) -> Key:
    """The key; objects from outside that hash by identity are told apart."""
    check_hashable(tracer, value)
    if _hashes_by_method(value):
        return Key(value, _ByMethods(tracer, value))
    key = Key(value)
    is_input = isinstance(value, TensorValue)  # those are always checked to be distinct
    if key.python is getattr(value, "real", None) and key.python is not None:
        if not is_input:
            tracer.tell_apart(value)
    return key


def check_hashable(tracer, value: Value) -> None:
    """Raises for a value whose class has no hash, or a tuple that holds one."""
    if isinstance(value, TupleValue):
        for item in value.items:
            check_hashable(tracer, item)
    elif isinstance(value, (Constant, TensorValue)):
        return
    elif static_lookup(value.python_type(), "__hash__")[0] is None:
        kind = value.python_type().__name__
        tracer.throw(TypeError, f"unhashable type: '{kind}'")


class _ById:
    """Objects that hash by identity, keyed by the traced value."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return id(self.value)

    def __eq__(self, other):
        return isinstance(other, _ById) and self.value is other.value


def hashable(value: Value) -> Any:
    """A Python object that hashes and compares like the traced value."""
    if isinstance(value, TupleValue):
        return tuple(hashable(item) for item in value.items)
    if isinstance(value, RunTimeNumber):
        return value.key()
    if isinstance(value, WeakReferenceValue):
        return value.real
    try:
        found = value.as_python()
        hash(found)
        return found
    except NotConstant:
        part = _literal_part(value)
        if part is not None:
            return part.value
        if hashes_by_identity(value.python_type()):
            real = getattr(value, "real", None)
            return real if real is not None else _ById(value)
        raise
    except TypeError as error:
        unsupported(
            kind="unhashable key",
            context=str(error),
            explanation="The key of a dict or set can't be hashed.",
        )


def _hashes_by_method(value: Value) -> bool:
    return isinstance(
        static_lookup(value.python_type(), "__hash__")[0], types.FunctionType
    ) and hasattr(value, "call_special")


class _ByMethods:
    """An object that hashes and compares by methods of its class."""

    __slots__ = ("tracer", "value", "hash")

    def __init__(self, tracer, value):
        self.tracer = tracer
        self.value = value
        self.hash = hash_of(tracer, value)

    def __hash__(self):
        return self.hash

    def __eq__(self, other):
        if not isinstance(other, _ByMethods):
            return NotImplemented
        return self.tracer.equal(self.value, other.value)


def _literal_part(value: Value) -> Constant | None:
    """The number or text that an object hashes and compares like."""
    part = getattr(value, "base", None)
    if not isinstance(part, Constant):
        return None
    cls, plain = value.python_type(), type(part.value)
    is_plain = cls.__hash__ is plain.__hash__ and cls.__eq__ is plain.__eq__
    return part if is_plain else None


def hashes_by_identity(cls: type) -> bool:
    """Whether equal means identical for objects of a class."""
    if issubclass(cls, torch.Tensor):
        return True
    return cls.__hash__ is object.__hash__ and cls.__eq__ is object.__eq__
