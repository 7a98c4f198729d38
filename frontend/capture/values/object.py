"""Objects of Python classes, classes, and ``super()``."""

from __future__ import annotations

import functools
import types
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture import _frame
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.function import BoundMethod, FunctionValue

_MISSING = object()
_SLOT_TYPES = (types.MemberDescriptorType, types.GetSetDescriptorType)


def static_lookup(cls: type, name: str) -> tuple[Any, type | None]:
    """What the classes of the MRO hold under ``name``, and which one."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name], base
    return _MISSING, None


class ObjectValue(Value):
    """An object of a Python class.

    Attributes:
        cls: Its class.
        real: The object, if it existed before the call.
        attributes: What was read or set while tracing. A value of None was deleted.
        base: For a subclass of dict, list or tuple: that part of it.
    """

    def __init__(self, cls: type, source=None, real=None, base: Value | None = None):
        self.cls = cls
        self.source = source
        self.real = real
        self.attributes: dict[str, Value | None] = {}
        self.base = base

    def python_type(self) -> type:
        """The class."""
        return self.cls

    def identity(self) -> Any:
        """The object itself."""
        return self if self.real is None else self.real

    # Attributes

    def get_attr(self, tracer, name):
        """``self.name``, by Python's rules."""
        getter, _ = static_lookup(self.cls, "__getattribute__")
        if isinstance(getter, types.FunctionType):
            function = tracer.class_member(self.cls, "__getattribute__")
            return tracer.call(function, [self, tracer.constant(name)], {})
        return self.generic_get_attr(tracer, name)

    def generic_get_attr(self, tracer, name: str) -> Value:
        """``object.__getattribute__``, then ``__getattr__``."""
        found = self.find_attr(tracer, name)
        if found is not None:
            return found
        getter, _ = static_lookup(self.cls, "__getattr__")
        if getter is not _MISSING:
            return self.call_getattr(tracer, name)
        message = f"'{self.cls.__name__}' object has no attribute '{name}'"
        tracer.throw(AttributeError, message)

    def call_getattr(self, tracer, name: str) -> Value:
        """``type(self).__getattr__(self, name)``."""
        function = tracer.class_member(self.cls, "__getattr__")
        return tracer.call(function, [self, tracer.constant(name)], {})

    def find_attr(self, tracer, name: str) -> Value | None:
        """The attribute, without ``__getattr__``."""
        if name == "__class__":
            return tracer.constant(self.cls)
        member, _ = static_lookup(self.cls, name)
        if member is not _MISSING and _is_data_descriptor(member):
            return self._get_descriptor(tracer, name, member)
        found = self.find_in_instance(tracer, name)
        if found is not None:
            return found
        if name == "__dict__":
            return InstanceDictValue(self)
        if member is _MISSING:
            return None
        return self._bind(tracer, name, member)

    def find_in_instance(self, tracer, name: str) -> Value | None:
        """``self.__dict__[name]``, or None."""
        if name in self.attributes:
            return self.attributes[name]
        if self.real is None:
            return None
        namespace = getattr(self.real, "__dict__", None)
        if namespace is None or self.source is None:
            return None
        value = namespace.get(name, _MISSING)
        if value is _MISSING:
            tracer.guards.add(self.source.instance_dict(), "absent", name)
            return None
        found = tracer.wrap(value, self.source.in_instance(name))
        self.attributes[name] = found
        return found

    def _get_descriptor(self, tracer, name: str, member: Any) -> Value:
        if isinstance(member, property):
            getter = tracer.class_member(self.cls, name, part="fget")
            return tracer.call(getter, [self], {})
        if isinstance(member, _SLOT_TYPES) and name != "__dict__":
            return self._get_slot(tracer, name)
        if name == "__dict__":
            return InstanceDictValue(self)
        getter, _ = static_lookup(type(member), "__get__")
        if isinstance(getter, types.FunctionType):
            descriptor = tracer.class_member(self.cls, name)
            function = tracer.class_member(type(member), "__get__")
            owner = tracer.constant(self.cls)
            return tracer.call(function, [descriptor, self, owner], {})
        self._unknown_descriptor(name, member)

    def _get_slot(self, tracer, name: str) -> Value:
        if name in self.attributes:
            found = self.attributes[name]
        elif self.real is None or not hasattr(self.real, name):
            found = None
        else:
            source = self.source.attribute(name)
            found = tracer.wrap(getattr(self.real, name), source)
            self.attributes[name] = found
        if found is None:
            tracer.throw(AttributeError, name)
        return found

    def _bind(self, tracer, name: str, member: Any) -> Value:
        value = tracer.class_member(self.cls, name)
        if isinstance(member, _FUNCTION_TYPES):
            return BoundMethod(value, self)
        if isinstance(member, functools.cached_property):
            return self._compute_once(tracer, name)
        if isinstance(member, staticmethod):
            return tracer.class_member(self.cls, name, part="__func__")
        if isinstance(member, classmethod):
            function = tracer.class_member(self.cls, name, part="__func__")
            return BoundMethod(function, tracer.constant(self.cls))
        if isinstance(member, _C_METHODS):
            return DescriptorMethod(member, self)
        getter, _ = static_lookup(type(member), "__get__")
        if isinstance(getter, types.FunctionType):
            function = tracer.class_member(type(member), "__get__")
            args = [value, self, tracer.constant(self.cls)]
            return tracer.call(function, args, {})
        if getter is not _MISSING and not isinstance(
            value, (ClassValue, FunctionValue)
        ):
            self._unknown_descriptor(name, member)
        return value

    def _compute_once(self, tracer, name: str) -> Value:
        function = tracer.class_member(self.cls, name, part="func")
        made = tracer.call(function, [self], {})
        InstanceDictValue(self).set_item(tracer, tracer.constant(name), made)
        return made

    def _unknown_descriptor(self, name: str, member: Any):
        unsupported(
            kind="descriptor",
            context=f"{self.cls.__name__}.{name} is a {type(member).__name__}",
            explanation="girih does not model this kind of descriptor.",
        )

    def set_attr(self, tracer, name, value):
        """``self.name = value``, by Python's rules; None deletes."""
        setter_name = "__setattr__" if value is not None else "__delattr__"
        setter, _ = static_lookup(self.cls, setter_name)
        if isinstance(setter, types.FunctionType):
            function = tracer.class_member(self.cls, setter_name)
            args = [self, tracer.constant(name)]
            tracer.call(function, args + ([value] if value is not None else []), {})
            return
        self.generic_set_attr(tracer, name, value)

    def generic_set_attr(self, tracer, name: str, value: Value | None) -> None:
        """``object.__setattr__``."""
        member, _ = static_lookup(self.cls, name)
        if isinstance(member, property):
            part = "fset" if value is not None else "fdel"
            function = tracer.class_member(self.cls, name, part=part)
            tracer.call(function, [self] + ([value] if value is not None else []), {})
            return
        if member is not _MISSING and _is_data_descriptor(member):
            self._check_slot(name, member)
        if value is None and self.find_in_instance(tracer, name) is None:
            tracer.throw(AttributeError, name)
        if self.real is not None:
            self.find_in_instance(tracer, name)
        tracer.effects.set_attr(self, name, self.attributes.get(name, _MISSING))
        self.attributes[name] = value

    def _check_slot(self, name: str, member: Any) -> None:
        if not isinstance(member, _SLOT_TYPES) or name in ("__dict__", "__class__"):
            unsupported(
                kind="assignment through a descriptor",
                context=f"{self.cls.__name__}.{name}",
                explanation="girih does not model this kind of descriptor.",
            )

    # Special methods

    def _special(self, name: str) -> bool:
        member, owner = static_lookup(self.cls, name)
        return member is not _MISSING and owner is not object

    def call_special(self, tracer, name: str, args: list[Value]) -> Value | None:
        """``type(self).name(self, *args)``, or None where the class has none."""
        member, owner = static_lookup(self.cls, name)
        if member is _MISSING or member is None or owner is object:
            return None
        if isinstance(member, types.FunctionType):
            function = tracer.class_member(self.cls, name)
            return tracer.call(function, [self, *args], {})
        if self.base is not None:
            return self.base.call_method(tracer, name, args, {})
        return tracer.call(self._bind(tracer, name, member), args, {})

    def truth(self, tracer) -> bool:
        """``__bool__``, else ``__len__``, else True."""
        for name in ("__bool__", "__len__"):
            if self._special(name):
                return self.call_special(tracer, name, []).truth(tracer)
        return True

    def length(self, tracer) -> int:
        """``__len__``."""
        if not self._special("__len__"):
            return super().length(tracer)
        return self.call_special(tracer, "__len__", []).as_python()

    def iterate(self, tracer):
        """``__iter__``."""
        if not self._special("__iter__"):
            return self._iterate_items(tracer)
        return tracer.iterate(self.call_special(tracer, "__iter__", []))

    def _iterate_items(self, tracer):
        if not self._special("__getitem__"):
            return super().iterate(tracer)
        from girih.frontend.capture.values.protocol import iterate_by_index

        return iterate_by_index(tracer, self)

    def contains(self, tracer, item) -> bool:
        """``__contains__``, else iteration."""
        if not self._special("__contains__"):
            return super().contains(tracer, item)
        return self.call_special(tracer, "__contains__", [item]).truth(tracer)

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

    def call(self, tracer, args, kwargs):
        """``__call__``."""
        member, _ = static_lookup(self.cls, "__call__")
        if isinstance(member, types.FunctionType):
            function = tracer.class_member(self.cls, "__call__")
            return tracer.call(function, [self, *args], kwargs)
        if member is _MISSING:
            return super().call(tracer, args, kwargs)
        unsupported(
            kind="call of an object",
            context=self.cls.__name__,
            explanation="Its __call__ is not a Python function.",
        )

    def call_method(self, tracer, name, args, kwargs):
        """A method of the builtin base class, or of ``object``."""
        if self.base is not None and hasattr(self.base.python_type(), name):
            if static_lookup(object, name)[0] is _MISSING or name == "__init__":
                return self.base.call_method(tracer, name, args, kwargs)
        return super().call_method(tracer, name, args, kwargs)

    def method___init__(self, tracer, *args, **kwargs):
        """``object.__init__`` does nothing."""
        return tracer.constant(None)

    def method___getattribute__(self, tracer, name):
        """``object.__getattribute__(self, name)``."""
        found = self.find_attr(tracer, name.as_python())
        if found is None:
            message = f"'{self.cls.__name__}' object has no attribute '{name.value}'"
            tracer.throw(AttributeError, message)
        return found

    def method___setattr__(self, tracer, name, value):
        """``object.__setattr__(self, name, value)``."""
        self.generic_set_attr(tracer, name.as_python(), value)
        return tracer.constant(None)

    def method___delattr__(self, tracer, name):
        """``object.__delattr__(self, name)``."""
        self.generic_set_attr(tracer, name.as_python(), None)
        return tracer.constant(None)

    def method___eq__(self, tracer, other):
        """``object.__eq__``: identity."""
        if self.identity() is other.identity():
            return tracer.constant(True)
        return tracer.constant(NotImplemented)

    def method___ne__(self, tracer, other):
        """``object.__ne__``."""
        return tracer.constant(not tracer.equal(self, other))

    def method___hash__(self, tracer):
        """Hashes differ from process to process; only known objects have one."""
        return tracer.constant(hash(tracer.key_python(self)))

    def __repr__(self) -> str:
        return f"ObjectValue({self.cls.__name__})"


_FUNCTION_TYPES = (types.FunctionType, _frame.Dispatcher, functools._lru_cache_wrapper)
_C_METHODS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)


def _is_data_descriptor(member: Any) -> bool:
    cls = type(member)
    if static_lookup(cls, "__get__")[0] is _MISSING:
        return False
    has_set = static_lookup(cls, "__set__")[0] is not _MISSING
    return has_set or static_lookup(cls, "__delete__")[0] is not _MISSING


class DescriptorMethod(Value):
    """A C method of a builtin class, bound to an object of a subclass."""

    def __init__(self, descriptor, owner: Value):
        self.descriptor = descriptor
        self.owner = owner

    def python_type(self) -> type:
        """The type of bound C methods."""
        return types.BuiltinMethodType

    def call(self, tracer, args, kwargs):
        """Calls it on the part of the object that is of the builtin class."""
        name = self.descriptor.__name__
        return self.owner.call_method(tracer, name, args, kwargs)


class InstanceDictValue(Value):
    """``self.__dict__`` of an object: reads and writes go to the object."""

    def __init__(self, owner: ObjectValue):
        self.owner = owner

    def python_type(self) -> type:
        """``dict``."""
        return dict

    def identity(self) -> Any:
        """The same dict at each access."""
        return ("__dict__ of", id(self.owner))

    def _names(self, tracer) -> list[str]:
        owner = self.owner
        names = {}
        if owner.real is not None and hasattr(owner.real, "__dict__"):
            keys = tuple(owner.real.__dict__)
            tracer.guards.add(owner.source.instance_dict(), "keys", keys)
            names = dict.fromkeys(keys)
        names.update(dict.fromkeys(owner.attributes))
        return [n for n in names if owner.find_in_instance(tracer, n) is not None]

    def length(self, tracer) -> int:
        """Number of attributes."""
        return len(self._names(tracer))

    def truth(self, tracer) -> bool:
        """Whether there are attributes."""
        return bool(self._names(tracer))

    def iterate(self, tracer):
        """Names of the attributes."""
        return iter([tracer.constant(name) for name in self._names(tracer)])

    def contains(self, tracer, item) -> bool:
        """Whether an attribute is there."""
        return self.owner.find_in_instance(tracer, item.as_python()) is not None

    def get_item(self, tracer, key):
        """An attribute."""
        found = self.owner.find_in_instance(tracer, key.as_python())
        return found if found is not None else tracer.throw_value(KeyError, [key])

    def set_item(self, tracer, key, value):
        """Sets an attribute, past ``__setattr__`` and descriptors."""
        owner, name = self.owner, key.as_python()
        owner.find_in_instance(tracer, name)
        tracer.effects.set_attr(owner, name, owner.attributes.get(name, _MISSING))
        owner.attributes[name] = value

    def delete_item(self, tracer, key):
        """Deletes an attribute."""
        self.get_item(tracer, key)
        self.set_item(tracer, key, None)

    def _snapshot(self, tracer):
        pairs = [
            (tracer.constant(name), self.owner.find_in_instance(tracer, name))
            for name in self._names(tracer)
        ]
        return tracer.dict_of(pairs)

    def method___getitem__(self, tracer, key):
        """``self[key]``."""
        return self.get_item(tracer, key)

    def method___setitem__(self, tracer, key, value):
        """``self[key] = value``."""
        self.set_item(tracer, key, value)
        return tracer.constant(None)

    def method_get(self, tracer, key, default=None):
        """``self.get(key, default)``."""
        found = self.owner.find_in_instance(tracer, key.as_python())
        return found or (tracer.constant(None) if default is None else default)

    def method_pop(self, tracer, key, default=None):
        """``self.pop(key, default)``."""
        found = self.owner.find_in_instance(tracer, key.as_python())
        if found is None:
            return default or tracer.throw_value(KeyError, [key])
        self.set_item(tracer, key, None)
        return found

    def method_update(self, tracer, *others, **kwargs):
        """``self.update(other, **kwargs)``."""
        for other in others:
            for key, value in tracer.pairs_of(other):
                self.set_item(tracer, key, value)
        for name, value in kwargs.items():
            self.set_item(tracer, tracer.constant(name), value)
        return tracer.constant(None)

    def method_setdefault(self, tracer, key, default):
        """``self.setdefault(key, default)``."""
        found = self.owner.find_in_instance(tracer, key.as_python())
        if found is None:
            self.set_item(tracer, key, default)
        return found or default

    def method_keys(self, tracer):
        """``self.keys()`` as of now."""
        return self._snapshot(tracer).method_keys(tracer)

    def method_values(self, tracer):
        """``self.values()`` as of now."""
        return self._snapshot(tracer).method_values(tracer)

    def method_items(self, tracer):
        """``self.items()`` as of now."""
        return self._snapshot(tracer).method_items(tracer)

    def method_copy(self, tracer):
        """``self.copy()``."""
        return self._snapshot(tracer)


class SuperValue(Value):
    """``super()``."""

    def __init__(self, start: type, owner: Value):
        self.start = start
        self.owner = owner

    def python_type(self) -> type:
        """``super``."""
        return super

    def _owner_class(self) -> type:
        if isinstance(self.owner, ClassValue):
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
        if isinstance(member, types.FunctionType):
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
        if isinstance(member, _C_METHODS):
            return DescriptorMethod(member, self.owner)
        return tracer.class_member(base, name)


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
            return tracer.held(getattr(self.cls, name))
        if name == "__class__":
            return tracer.constant(type(self.cls))
        member, _ = static_lookup(self.cls, name)
        if member is _MISSING:
            return self._meta_attr(tracer, name)
        if isinstance(member, staticmethod):
            return tracer.class_member(self.cls, name, part="__func__")
        if isinstance(member, classmethod):
            function = tracer.class_member(self.cls, name, part="__func__")
            return BoundMethod(function, self)
        if isinstance(member, types.FunctionType) or not hasattr(member, "__get__"):
            return tracer.class_member(self.cls, name)
        return tracer.held(getattr(self.cls, name))

    def _meta_attr(self, tracer, name: str) -> Value:
        if not hasattr(self.cls, name):
            message = f"type object '{self.cls.__name__}' has no attribute '{name}'"
            tracer.throw(AttributeError, message)
        member, _ = static_lookup(type(self.cls), name)
        if isinstance(member, types.FunctionType):
            return BoundMethod(tracer.class_member(type(self.cls), name), self)
        return tracer.held(getattr(self.cls, name))

    def iterate(self, tracer):
        """The members of an enumeration."""
        return (tracer.held(member) for member in tracer.fold_raw(iter, self.cls))

    def length(self, tracer) -> int:
        """Number of members of an enumeration."""
        return tracer.fold_raw(len, self.cls)

    def contains(self, tracer, item) -> bool:
        """Whether an enumeration has a member."""
        return tracer.fold_raw(lambda c, i: i in c, self.cls, item.as_python())

    def get_item(self, tracer, key):
        """A member of an enumeration, or a generic alias."""
        return tracer.held(self.cls[key.as_python()])

    def call(self, tracer, args, kwargs):
        """Makes an object."""
        return tracer.construct(self, args, kwargs)

    def method_mro(self, tracer):
        """``cls.mro()``."""
        return tracer.held(self.cls.mro())

    def method___subclasses__(self, tracer):
        """Depends on what was imported."""
        return tracer.held(self.cls.__subclasses__())

    def __repr__(self) -> str:
        return f"ClassValue({self.cls.__qualname__})"


def function_of(value: Value) -> FunctionValue | None:
    """The Python function that a value is, or wraps as a bound method."""
    if isinstance(value, BoundMethod):
        return function_of(value.function)
    return value if isinstance(value, FunctionValue) else None
