"""Classes, and ``super()``."""

from __future__ import annotations

import enum
import operator
import types
from typing import Any

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.function import BoundMethod
from girih.frontend.capture.values.lookup import (
    C_METHODS,
    FUNCTION_TYPES,
    MISSING,
    DescriptorMethod,
    static_lookup,
)
from girih.frontend.capture.values.protocols import stand_in


class SuperValue(Value):
    """``super()``."""

    def __init__(self, start: type, owner: Value):
        self.start = start
        self.owner = owner

    def python_type(self) -> type:
        """``super``."""
        return super

    def _owner_class(self) -> type:
        # In a method of a metaclass the owner is a class, and its class is meant.
        if isinstance(self.owner, ClassValue) and issubclass(
            self.owner.cls, self.start
        ):
            return self.owner.cls
        return self.owner.python_type()

    def get_attr(self, tracer, name):
        """The attribute of the next class in the MRO, bound to the object."""
        mro = self._owner_class().__mro__
        for base in mro[mro.index(self.start) + 1 :]:
            if name in base.__dict__:
                return self._bind(tracer, base, name, base.__dict__[name])
        message = f"'super' object has no attribute '{name}'"
        tracer.throw(AttributeError, message)

    def _bind(self, tracer, base: type, name: str, member: Any) -> Value:
        if isinstance(member, FUNCTION_TYPES):
            function = tracer.class_member(base, name)
            # In a class method, or for __new__, the owner is a class.
            return function if name == "__new__" else BoundMethod(function, self.owner)
        if isinstance(member, staticmethod):
            return tracer.class_member(base, name, part="__func__")
        if isinstance(member, classmethod):
            function = tracer.class_member(base, name, part="__func__")
            return BoundMethod(function, tracer.constant(self._owner_class()))
        if isinstance(member, property):
            getter = tracer.class_member(base, name, part="fget")
            return tracer.call(getter, [self.owner], {})
        if isinstance(member, C_METHODS):
            return DescriptorMethod(member, self.owner)
        return tracer.class_member(base, name)


def super_of(tracer, cls: Value, owner: Value) -> SuperValue:
    """``super(cls, owner)``, which checks that they fit."""
    start = cls.as_python()
    if not isinstance(start, type):
        tracer.fold_raw(super, start, None)  # raises
    kinds = [owner.python_type()]
    kinds += [owner.cls] if isinstance(owner, ClassValue) else []
    if not any(issubclass(kind, start) for kind in kinds):
        tracer.fold_raw(super, start, stand_in(owner.python_type()))  # raises
    return SuperValue(start, owner)


def _is_users(member: Any) -> bool:
    """Whether a class method is one that a program has written."""
    function = getattr(member, "__func__", None)
    library = isinstance(function, types.FunctionType) and function.__module__
    return bool(library) and library != "typing"


class ClassValue(Value):
    """A class."""

    def __init__(self, cls: type, source=None):
        self.cls = cls
        self.source = source

    def python_type(self) -> type:
        """The metaclass."""
        return type(self.cls)

    def as_python(self) -> Any:
        """The class."""
        return self.cls

    def identity(self) -> Any:
        """The class."""
        return self.cls

    def get_attr(self, tracer, name):
        """Class attributes; methods are functions."""
        plain = {"__name__", "__qualname__", "__module__", "__mro__", "__bases__"}
        if name in plain | {"__doc__", "__dict__", "__annotations__"}:
            return tracer.held(tracer.fold_raw(getattr, self.cls, name))
        if name == "__class__":
            return tracer.constant(type(self.cls))
        member, _ = static_lookup(self.cls, name)
        if member is MISSING:
            return self._meta_attr(tracer, name)
        if isinstance(member, staticmethod):
            return tracer.class_member(self.cls, name, part="__func__")
        if isinstance(member, classmethod):
            function = tracer.class_member(self.cls, name, part="__func__")
            return BoundMethod(function, self)
        if isinstance(member, FUNCTION_TYPES) or not hasattr(member, "__get__"):
            return tracer.class_member(self.cls, name)
        getter, _ = static_lookup(type(member), "__get__")
        is_own = isinstance(getter, types.FunctionType)
        if is_own and not isinstance(member, types.DynamicClassAttribute):
            descriptor = tracer.class_member(self.cls, name)
            function = tracer.class_member(type(member), "__get__")
            args = [descriptor, tracer.constant(None), self]
            return tracer.call(function, args, {})
        return tracer.held(tracer.fold_raw(getattr, self.cls, name))

    def _meta_attr(self, tracer, name: str) -> Value:
        if not hasattr(self.cls, name):
            tracer.guard_lookup(self.cls, name, MISSING)
            tracer.fold_raw(getattr, self.cls, name)  # raises
        member, _ = static_lookup(type(self.cls), name)
        if isinstance(member, FUNCTION_TYPES):
            return BoundMethod(tracer.class_member(type(self.cls), name), self)
        if isinstance(member, property) and member.fget is not None:
            getter = tracer.class_member(type(self.cls), name, part="fget")
            return tracer.call(getter, [self], {})
        if member is not MISSING and not hasattr(member, "__get__"):
            return tracer.class_member(type(self.cls), name)
        return tracer.held(getattr(self.cls, name))

    def _ask_metaclass(self, tracer, name: str, *args: Value) -> Value | None:
        """What a method that the metaclass has in Python gives; None without one.

        Enumerations do not change, and their own methods are called while tracing.
        """
        member, owner = static_lookup(type(self.cls), name)
        if not isinstance(member, FUNCTION_TYPES) or owner is enum.EnumMeta:
            return None
        method = tracer.class_member(type(self.cls), name)
        return tracer.call(method, [self, *args], {})

    def truth(self, tracer) -> bool:
        """True, unless the metaclass says otherwise."""
        found = self._ask_metaclass(tracer, "__bool__")
        if found is not None:
            return found.truth(tracer)
        if static_lookup(type(self.cls), "__bool__")[0] is MISSING:
            found = self._ask_metaclass(tracer, "__len__")
            if found is not None:
                return found.truth(tracer)
        return tracer.fold_raw(bool, self.cls)

    def iterate(self, tracer):
        """The members of an enumeration, or what the metaclass gives."""
        found = self._ask_metaclass(tracer, "__iter__")
        if found is not None:
            return tracer.iterate(found)
        return (tracer.held(member) for member in tracer.fold_raw(iter, self.cls))

    def length(self, tracer) -> int:
        """Number of members of an enumeration, or what the metaclass says."""
        found = self._ask_metaclass(tracer, "__len__")
        if found is not None:
            return found.as_python()
        return tracer.fold_raw(len, self.cls)

    def contains(self, tracer, item) -> bool:
        """Whether an enumeration has a member, or what the metaclass says."""
        found = self._ask_metaclass(tracer, "__contains__", item)
        if found is not None:
            return found.truth(tracer)
        return tracer.fold_raw(lambda c, i: i in c, self.cls, item.as_python())

    def get_item(self, tracer, key):
        """A member of an enumeration, a generic alias, or what the metaclass gives."""
        found = self._ask_metaclass(tracer, "__getitem__", key)
        if found is not None:
            return found
        meta, member = type(self.cls), static_lookup(self.cls, "__class_getitem__")[0]
        if static_lookup(meta, "__getitem__")[0] is MISSING and _is_users(member):
            getter = self.get_attr(tracer, "__class_getitem__")
            return tracer.call(getter, [key], {})
        return tracer.held(tracer.fold_raw(operator.getitem, self.cls, key.as_python()))

    def call(self, tracer, args, kwargs):
        """Makes an object."""
        return tracer.construct(self, args, kwargs)

    def method___call__(self, tracer, /, *args, **kwargs):
        """``type.__call__(cls, ...)``."""
        return tracer.construct_object(self, list(args), kwargs)

    def method___instancecheck__(self, tracer, value):
        """``type.__instancecheck__(cls, value)``."""
        return tracer.constant(issubclass(value.python_type(), self.cls))

    def method___subclasscheck__(self, tracer, other):
        """``type.__subclasscheck__(cls, other)``."""
        return tracer.fold(type.__subclasscheck__, self.cls, other.as_python())

    def method_mro(self, tracer):
        """``cls.mro()``."""
        return tracer.held(self.cls.mro())

    def method___subclasses__(self, tracer):
        """Depends on what was imported."""
        return tracer.held(self.cls.__subclasses__())

    def __repr__(self) -> str:
        return f"the class {self.cls.__qualname__}"
