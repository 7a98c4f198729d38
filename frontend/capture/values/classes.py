"""Classes, and ``super()``."""

from __future__ import annotations

import enum
import operator
import types
import weakref
from typing import Any

from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.class_methods import bind_class_method
from girih.frontend.capture.values.function import BoundMethod
from girih.frontend.capture.values.lookup import (
    C_METHODS,
    FUNCTION_TYPES,
    MISSING,
    DescriptorMethod,
    has_getter,
    is_changeable,
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
        is_class = isinstance(self.owner, ClassValue)
        if is_class and self.start in self.owner.cls.__mro__:
            return self.owner.cls
        return self.owner.python_type()

    def get_attr(self, tracer, name):
        """The attribute of the next class in the MRO, bound to the object."""
        cls = self._owner_class()
        member, base = tracer.super_lookup(cls, self.start, name)
        if base is None or name == "__class__":
            return super().get_attr(tracer, name)
        return self._bind(tracer, base, name, member)

    def _bind(self, tracer, base: type, name: str, member: Any) -> Value:
        if isinstance(member, FUNCTION_TYPES):
            function = tracer.class_member(base, name)
            # In a class method, or for __new__, the owner is a class.
            return function if name == "__new__" else BoundMethod(function, self.owner)
        if isinstance(member, staticmethod):
            return tracer.class_member(base, name, part="__func__")
        if isinstance(member, classmethod):
            owner = tracer.constant(self._owner_class())
            return bind_class_method(tracer, base, name, owner)
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
    for kind in kinds:
        tracer.guard_bases(kind)
    if not any(start in kind.__mro__ for kind in kinds):
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
        """``cls.name``, by Python's rules: ``__getattr__`` where it is missing."""
        try:
            return self._get_attribute(tracer, name)
        except Raised as raised:
            if not issubclass(raised.value.python_type(), AttributeError):
                raise
            found = self._ask_metaclass(tracer, "__getattr__", tracer.constant(name))
            if found is None:
                raise
        return found

    def _get_attribute(self, tracer, name: str) -> Value:
        own = tracer.constant(name)
        found = self._ask_metaclass(tracer, "__getattribute__", own)
        return self.generic_get_attr(tracer, name) if found is None else found

    def generic_get_attr(self, tracer, name: str) -> Value:
        """``type.__getattribute__``."""
        if name == "__class__":
            return tracer.constant(type(self.cls))
        above, _ = tracer.lookup(type(self.cls), name)
        if above is not MISSING and tracer.is_data_descriptor(above):
            return self._meta_attr(tracer, name)
        member, _ = tracer.lookup(self.cls, name)
        if member is MISSING:
            return self._meta_attr(tracer, name)
        return self._bind(tracer, name, member)

    def _bind(self, tracer, name: str, member: Any) -> Value:
        if isinstance(member, staticmethod):
            return tracer.class_member(self.cls, name, part="__func__")
        if isinstance(member, classmethod):
            return bind_class_method(tracer, self.cls, name, self)
        getter, _ = tracer.lookup(type(member), "__get__")
        if isinstance(member, FUNCTION_TYPES) or getter is MISSING:
            return tracer.class_member(self.cls, name)
        is_own = isinstance(getter, types.FunctionType)
        if is_own and not isinstance(member, types.DynamicClassAttribute):
            descriptor = tracer.class_member(self.cls, name)
            function = tracer.class_member(type(member), "__get__")
            args = [descriptor, tracer.constant(None), self]
            return tracer.call(function, args, {})
        return tracer.held(tracer.fold_raw(getattr, self.cls, name))

    def _meta_attr(self, tracer, name: str) -> Value:
        member, _ = tracer.lookup(type(self.cls), name)
        if isinstance(member, FUNCTION_TYPES):
            return BoundMethod(tracer.class_member(type(self.cls), name), self)
        if isinstance(member, property) and member.fget is not None:
            getter = tracer.class_member(type(self.cls), name, part="fget")
            return tracer.call(getter, [self], {})
        if member is not MISSING and not has_getter(member):
            return tracer.class_member(type(self.cls), name)
        # Past `__getattr__` in Python, which is followed.
        is_asked = self._has_own(tracer, "__getattr__")
        reader = type.__getattribute__ if is_asked else getattr
        value = tracer.fold_raw(reader, self.cls, name)
        if name == "__dict__" or not is_changeable(self.cls):
            return tracer.held(value)
        return tracer.wrap(value, tracer.roots.constant(self.cls).attribute(name))

    def _has_own(self, tracer, name: str) -> bool:
        """Whether the metaclass has a method in Python.

        Enumerations do not change, and their own methods are called while tracing.
        """
        member, owner = tracer.lookup(type(self.cls), name)
        return isinstance(member, FUNCTION_TYPES) and owner is not enum.EnumMeta

    def _ask_metaclass(self, tracer, name: str, *args: Value) -> Value | None:
        """What a method that the metaclass has in Python gives; None without one."""
        if not self._has_own(tracer, name):
            return None
        method = tracer.class_member(type(self.cls), name)
        return tracer.call(method, [self, *args], {})

    def truth(self, tracer) -> bool:
        """True, unless the metaclass says otherwise."""
        found = self._ask_metaclass(tracer, "__bool__")
        if found is not None:
            return found.truth(tracer)
        if tracer.lookup(type(self.cls), "__bool__")[0] is MISSING:
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
        meta, member = type(self.cls), tracer.lookup(self.cls, "__class_getitem__")[0]
        if tracer.lookup(meta, "__getitem__")[0] is MISSING and _is_users(member):
            getter = self.get_attr(tracer, "__class_getitem__")
            return tracer.call(getter, [key], {})
        return tracer.held(tracer.fold_raw(operator.getitem, self.cls, key.as_python()))

    def own_dir(self, tracer) -> Value | None:
        """What ``__dir__`` of the metaclass gives; None without one in Python."""
        return self._ask_metaclass(tracer, "__dir__")

    def call(self, tracer, args, kwargs):
        """Makes an object."""
        return tracer.construct(self, args, kwargs)

    def method___call__(self, tracer, /, *args, **kwargs):
        """``type.__call__(cls, ...)``."""
        return tracer.construct_object(self, list(args), kwargs)

    def method___instancecheck__(self, tracer, value):
        """``type.__instancecheck__(cls, value)``."""
        return tracer.constant(tracer.is_subclass(value.python_type(), self.cls))

    def method___subclasscheck__(self, tracer, other):
        """``type.__subclasscheck__(cls, other)``."""
        cls = other.as_python()
        if isinstance(cls, type):
            tracer.guard_bases(cls)
        return tracer.fold(type.__subclasscheck__, self.cls, cls)

    def method_mro(self, tracer):
        """``cls.mro()``."""
        tracer.guard_bases(self.cls)
        return tracer.from_python(self.cls.mro())

    def method___subclasses__(self, tracer):
        """Depends on what was imported."""
        found = type.__subclasses__(self.cls)
        source = tracer.roots.constant(self.cls)
        tracer.guards.add(source, "call", HasSubclasses(found))
        return tracer.from_python(found)

    def method___getattribute__(self, tracer, name):
        """``type.__getattribute__(cls, name)``."""
        return self.generic_get_attr(tracer, name.as_python())

    def __repr__(self) -> str:
        return f"the class {self.cls.__qualname__}"


class HasSubclasses:
    """A guard: the classes that are derived from a class."""

    __qualname__ = "the same subclasses of "

    def __init__(self, classes: list[type]):
        # Not held: classes that nobody else holds go away.
        self._references = [weakref.ref(cls) for cls in classes]

    def __call__(self, cls: type) -> bool:
        """Whether they are those."""
        return type.__subclasses__(cls) == [known() for known in self._references]
