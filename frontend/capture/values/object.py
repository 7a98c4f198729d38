"""Objects of Python classes."""

from __future__ import annotations

import functools
import types
from collections import OrderedDict, defaultdict
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.values.base import Raised, Value, type_name
from girih.frontend.capture.values.class_methods import bind_class_method
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.function import BoundMethod, FunctionValue
from girih.frontend.capture.values.instance_dict import InstanceDictValue
from girih.frontend.capture.values.lookup import (
    C_METHODS,
    FUNCTION_TYPES,
    MISSING,
    SLOT_TYPES,
    TUPLE_FIELD,
    DescriptorMethod,
    static_lookup,
    takes_assignment,
)
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.protocols import (
    SpecialMethods,
    is_not_implemented,
    stand_in,
)
from girih.frontend.capture.values.sequence import TupleValue
from girih.frontend.capture.values.special import OPERATORS

# Builtin classes whose subclasses have a constant part.
_SETS_ITEMS = frozenset(("update", "setdefault", "__init__", "__or__", "__ior__"))
LITERAL_BASES = (int, float, complex, str, bytes)


class ObjectValue(SpecialMethods):
    """An object of a Python class.

    Attributes:
        cls: Its class.
        real: The object, if it existed before the call.
        attributes: What was read or set while tracing. A value of None was deleted.
        base: For a subclass of dict, list, tuple, int, str, ...: that part of it.
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

    def as_python(self) -> Any:
        """An object from outside that is a number or a text, and no more."""
        is_literal = isinstance(self.base, LiteralPart)
        if not is_literal or getattr(self.real, "__dict__", None):
            return super().as_python()
        assert self.base.value is not None, "girih bug: a literal is None"
        return self.real

    def identity(self) -> Any:
        """The object itself."""
        return self if self.real is None else self.real

    # Attributes

    def get_attr(self, tracer, name):
        """``self.name``, by Python's rules: ``__getattr__`` where it is missing."""
        try:
            return self._get_attribute(tracer, name)
        except Raised as raised:
            if not issubclass(raised.value.python_type(), AttributeError):
                raise
            if tracer.lookup(self.cls, "__getattr__")[0] is MISSING:
                raise
        return self.call_getattr(tracer, name)

    def _get_attribute(self, tracer, name: str) -> Value:
        getter, _ = tracer.lookup(self.cls, "__getattribute__")
        if isinstance(getter, types.FunctionType):
            function = tracer.class_member(self.cls, "__getattribute__")
            return tracer.call(function, [self, tracer.constant(name)], {})
        return self.generic_get_attr(tracer, name)

    def generic_get_attr(self, tracer, name: str) -> Value:
        """``object.__getattribute__``."""
        found = self.find_attr(tracer, name)
        if found is None:
            message = f"'{type_name(self.cls)}' object has no attribute '{name}'"
            tracer.throw(AttributeError, message)
        return found

    def call_getattr(self, tracer, name: str) -> Value:
        """``type(self).__getattr__(self, name)``."""
        tracer.caller = None  # what it returns is an attribute, no call's result
        function = tracer.class_member(self.cls, "__getattr__")
        return tracer.call(function, [self, tracer.constant(name)], {})

    def find_attr(self, tracer, name: str) -> Value | None:
        """The attribute, without ``__getattr__``."""
        member, owner = static_lookup(self.cls, name)
        if name == "__class__" and owner is object:
            tracer.lookup(self.cls, name)
            return tracer.constant(self.cls)
        if member is not MISSING and tracer.is_data_descriptor(member):
            tracer.lookup(self.cls, name)
            return self._get_descriptor(tracer, name, member)
        found = self.find_in_instance(tracer, name)
        if found is not None:
            tracer.guard_shadowed(self.cls, name)
            return found
        tracer.lookup(self.cls, name)
        if name == "__dict__" and getattr(self.cls, "__dictoffset__", 0):
            return InstanceDictValue(self)
        if member is MISSING:
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
        self._own_namespace(tracer, namespace)
        value = namespace.get(name, MISSING)
        if value is MISSING:
            tracer.guards.add(self.source.instance_dict(), "absent", name)
            return None
        found = tracer.wrap_found(value, self.source.in_instance(name))
        self.attributes[name] = found
        return found

    def _own_namespace(self, tracer, namespace: dict) -> None:
        """Notes whose ``__dict__`` a dict is, so that it is not traced as another."""
        found = tracer.namespaces.setdefault(id(namespace), self)
        if found is self and tracer.known_value(namespace) is None:
            return
        unsupported(
            kind="an object whose __dict__ was met before",
            context=f"{self.cls.__name__}.__dict__",
            explanation="The dict is traced as an object of its own.",
            hints=("Use the object's attributes, or vars() of it, not both.",),
        )

    def _get_descriptor(self, tracer, name: str, member: Any) -> Value:
        tracer.caller = None  # what it returns is an attribute, no call's result
        if isinstance(member, property):
            getter = tracer.class_member(self.cls, name, part="fget")
            return tracer.call(getter, [self], {})
        if name == "__weakref__" and self.real is None:
            return tracer.constant(None)  # there are no references to such objects
        if isinstance(member, SLOT_TYPES) and name != "__dict__":
            return self._get_slot(tracer, name)
        if name == "__dict__":
            return InstanceDictValue(self)
        getter, _ = tracer.lookup(type(member), "__get__")
        if isinstance(getter, types.FunctionType):
            descriptor = tracer.class_member(self.cls, name)
            function = tracer.class_member(type(member), "__get__")
            owner = tracer.constant(self.cls)
            return tracer.call(function, [descriptor, self, owner], {})
        if isinstance(member, TUPLE_FIELD) and isinstance(self.base, TupleValue):
            return self.base.items[member.__reduce__()[1][0]]
        self._unknown_descriptor(name, member)

    def _get_slot(self, tracer, name: str) -> Value:
        found = self._find_slot(tracer, name)
        if found is None:
            tracer.fold_raw(getattr, stand_in(self.cls, __slots__=(name,)), name)
        return found

    def _find_slot(self, tracer, name: str) -> Value | None:
        if name in self.attributes:
            return self.attributes[name]
        if self.real is None:
            return None
        if not hasattr(self.real, name):
            tracer.guards.add(self.source, "call", LacksAttribute(name))
            return None
        source = self.source.attribute(name)
        value = getattr(self.real, name)
        found = self.attributes[name] = tracer.wrap_found(value, source)
        return found

    def _bind(self, tracer, name: str, member: Any) -> Value:
        value = tracer.class_member(self.cls, name)
        if isinstance(member, FUNCTION_TYPES):
            return BoundMethod(value, self)
        if isinstance(member, functools.cached_property):
            return self._compute_once(tracer, name)
        if isinstance(member, staticmethod):
            return tracer.class_member(self.cls, name, part="__func__")
        if isinstance(member, classmethod):
            owner = tracer.constant(self.cls)
            return bind_class_method(tracer, self.cls, name, owner)
        if isinstance(member, C_METHODS):
            return DescriptorMethod(member, self)
        getter, _ = tracer.lookup(type(member), "__get__")
        if isinstance(getter, types.FunctionType):
            function = tracer.class_member(type(member), "__get__")
            args = [value, self, tracer.constant(self.cls)]
            return tracer.call(function, args, {})
        if getter is not MISSING and not isinstance(value, (ClassValue, FunctionValue)):
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
        setter, _ = tracer.lookup(self.cls, setter_name)
        is_slot = isinstance(setter, types.WrapperDescriptorType)
        if is_slot and setter.__name__ == setter_name:
            self.generic_set_attr(tracer, name, value)
            return
        # Anything may stand there, such as the ``__setitem__`` of a dict.
        args = [tracer.constant(name)] + ([value] if value is not None else [])
        tracer.call(self._bind(tracer, setter_name, setter), args, {})

    def generic_set_attr(self, tracer, name: str, value: Value | None) -> None:
        """``object.__setattr__``."""
        member, _ = tracer.lookup(self.cls, name)
        if isinstance(member, property):
            part = "fset" if value is not None else "fdel"
            if getattr(member, part) is None:
                self._no_setter(tracer, name, value is None)
            function = tracer.class_member(self.cls, name, part=part)
            tracer.call(function, [self] + ([value] if value is not None else []), {})
            return
        if member is not MISSING and takes_assignment(member):
            if self._set_through_descriptor(tracer, name, member, value):
                return
            self._check_slot(name, member)
        elif not getattr(self.cls, "__dictoffset__", 0):
            self._no_namespace(tracer, name, member, value is None)
        before = self._find_own(tracer, name, member)
        if value is None and before is None:
            content = {"__slots__": (name,)} if isinstance(member, SLOT_TYPES) else {}
            tracer.fold_raw(delattr, stand_in(self.cls, **content), name)
        previous = self.attributes.get(name, MISSING)
        tracer.effects.set_attr(self, name, value, previous)

    def _find_own(self, tracer, name: str, member: Any) -> Value | None:
        """What the object itself holds: in a slot, or in its ``__dict__``."""
        if isinstance(member, SLOT_TYPES):
            return self._find_slot(tracer, name)
        return self.find_in_instance(tracer, name)

    def _no_setter(self, tracer, name: str, is_deleted: bool):
        kind = "deleter" if is_deleted else "setter"
        text = f"property {name!r} of {self.cls.__name__!r} object has no {kind}"
        tracer.throw(AttributeError, text)

    def _no_namespace(self, tracer, name: str, member: Any, is_deleted: bool):
        """Raises as for any object that holds no more than its ``__slots__``."""
        content = {} if member is MISSING else {name: None}
        like = stand_in(self.cls, __slots__=(), **content)
        if is_deleted:
            tracer.fold_raw(delattr, like, name)
        tracer.fold_raw(setattr, like, name, None)

    def _set_through_descriptor(self, tracer, name, member, value) -> bool:
        part = "__set__" if value is not None else "__delete__"
        setter, _ = tracer.lookup(type(member), part)
        if setter is MISSING:
            tracer.throw(AttributeError, part)
        if not isinstance(setter, types.FunctionType):
            return False
        descriptor = tracer.class_member(self.cls, name)
        function = tracer.class_member(type(member), part)
        args = [descriptor, self] + ([value] if value is not None else [])
        tracer.call(function, args, {})
        return True

    def _check_slot(self, name: str, member: Any) -> None:
        if name in ("__dict__", "__class__"):
            unsupported(
                kind="assignment to an object's class or dict",
                context=f"{self.cls.__name__}.{name}",
                explanation=(
                    "girih assumes that this attribute of an object never changes."
                ),
            )
        if not isinstance(member, SLOT_TYPES):
            unsupported(
                kind="assignment through a descriptor",
                context=f"{self.cls.__name__}.{name}",
                explanation="girih does not model this kind of descriptor.",
            )

    def bind_special(self, tracer, name, member):
        """A special method that is no plain function, bound."""
        return self._bind(tracer, name, member)

    def call(self, tracer, args, kwargs):
        """``__call__``."""
        member, _ = tracer.lookup(self.cls, "__call__")
        if isinstance(member, FUNCTION_TYPES):
            function = tracer.class_member(self.cls, "__call__")
            return tracer.call(function, [self, *args], kwargs)
        if member is MISSING:
            return super().call(tracer, args, kwargs)
        if member is None:
            self.call_special(tracer, "__call__", args)  # raises
        unsupported(
            kind="call of an object",
            context=self.cls.__name__,
            explanation="Its __call__ is not a Python function.",
        )

    def call_c_method(self, tracer, descriptor, args, kwargs):
        """A method of the builtin base class, or of ``object``."""
        owner, name = descriptor.__objclass__, descriptor.__name__
        if owner is object or issubclass(owner, BaseException):
            return self.call_method(tracer, name, args, kwargs)
        if self.base is None:
            unsupported(
                kind="method written in C of a user's class",
                context=f"{self.cls.__name__}.{name}",
                explanation="girih does not model the builtin class it comes from.",
            )
        if name == "__getitem__" and isinstance(self.base, DictValue):
            return self._get_or_missing(tracer, *args)
        if self.base.python_type() in (OrderedDict, defaultdict):
            if name in _SETS_ITEMS and self._overrides_set_item(tracer):
                return self._set_items(tracer, name, args, kwargs)
            if name == "copy":
                return self._copy_of_same_class(tracer)
            if name in ("__or__", "__ror__"):
                return self._merged(tracer, *args, is_right=name == "__ror__")
        if name == "__format__" and args and not args[0].truth(tracer):
            return tracer.call(tracer.constant(str), [self], {})  # as C does
        if name == "__ror__" and isinstance(self.base, DictValue):
            return self._added_to(tracer, *args)
        if name in OPERATORS:
            args = [builtin_part(arg) for arg in args]
        found = self.base.call_method(tracer, name, args, kwargs)
        return self if found is self.base else found

    def _overrides_set_item(self, tracer) -> bool:
        setter, _ = tracer.lookup(self.cls, "__setitem__")
        return isinstance(setter, types.FunctionType)

    def _set_items(self, tracer, name: str, args, kwargs) -> Value:
        """A C method of ``OrderedDict`` that calls ``__setitem__`` of the class."""
        if name not in ("__init__", "update"):
            unsupported(
                kind="method of an OrderedDict that calls what is overridden",
                context=f"{self.cls.__name__}.{name}",
                explanation="girih does not follow calls from C code.",
            )
        pairs = [pair for arg in args for pair in tracer.pairs_of(arg)]
        pairs += [(tracer.constant(key), value) for key, value in kwargs.items()]
        for key, value in pairs:
            self.set_item(tracer, key, value)
        return tracer.constant(None)

    def _copy_of_same_class(self, tracer, content: Value | None = None) -> Value:
        factory = self.base.factory
        args = [] if factory is None else [factory]
        cls = tracer.constant(self.cls)
        return tracer.call(cls, [*args, self if content is None else content], {})

    def _added_to(self, tracer, other: Value) -> Value:
        """``other | self`` for a plain dict, which reads this one as an update does."""
        other = builtin_part(other)
        if not isinstance(other, DictValue):
            return tracer.constant(NotImplemented)
        made = other.copied_like(tracer, other)
        made.method_update(tracer, self)
        return made

    def _merged(self, tracer, other: Value, is_right: bool) -> Value:
        """``self | other``, or ``other | self``: an object of this class."""
        if not issubclass(other.python_type(), dict):
            return tracer.constant(NotImplemented)
        first, second = (other, self) if is_right else (self, other)
        made = self._copy_of_same_class(tracer, first)
        tracer.call(tracer.get_attr(made, "update"), [second], {})
        return made

    def _get_or_missing(self, tracer, key: Value) -> Value:
        """``dict.__getitem__``, which asks the class for ``__missing__``."""
        found = self.base.find(tracer, key)
        if found is None:
            found = self.call_special(tracer, "__missing__", [key])
        return self.base.get_item(tracer, key) if found is None else found

    def call_method(self, tracer, name, args, kwargs):
        """A method of the builtin base class, or of ``object``."""
        if self.base is not None and hasattr(self.base.python_type(), name):
            if static_lookup(object, name)[0] is MISSING or name == "__init__":
                return self.base.call_method(tracer, name, args, kwargs)
        return super().call_method(tracer, name, args, kwargs)

    def method___init__(self, tracer, /, *args, **kwargs):
        """``object.__init__`` does nothing."""
        return tracer.constant(None)

    def method___getattribute__(self, tracer, name):
        """``object.__getattribute__(self, name)``."""
        return self.generic_get_attr(tracer, name.as_python())

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
        if tracer.identical(self, other):
            return tracer.constant(True)
        return tracer.constant(NotImplemented)

    def method___ne__(self, tracer, other):
        """``object.__ne__``: not what ``__eq__`` answers."""
        found = self.call_comparison(tracer, "__eq__", other)
        if found is None and self.special(tracer, "__eq__") is MISSING:
            found = self.method___eq__(tracer, other)
        if found is None or is_not_implemented(found):
            return tracer.constant(NotImplemented)
        return tracer.constant(not found.truth(tracer))

    def method___reduce_ex__(self, tracer, protocol):
        """``object.__reduce_ex__(self, protocol)``."""
        function = tracer.held(object.__reduce_ex__)
        return tracer.call(function, [self, protocol], {})

    def method___hash__(self, tracer):
        """Hashes differ from process to process; only known objects have one."""
        return tracer.constant(hash(tracer.key_python(self)))

    def __repr__(self) -> str:
        return f"an object of class {self.cls.__qualname__}"


def builtin_part(value: Value) -> Value:
    """The list, dict, number, ... that a value is, or that is a part of it."""
    if isinstance(value, ObjectValue) and value.base is not None:
        return value.base
    return value


class LiteralPart(Constant):
    """The number or text that an object from outside holds besides its attributes."""

    def add_guard(self, tracer) -> None:
        """Guards the value alone, as the class may compare otherwise."""
        tracer.guards.add(self.source, "call", HoldsLiteral(self._value))


class LacksAttribute:
    """A guard: a slot of an object is empty."""

    def __init__(self, name: str):
        self.name = name
        self.__qualname__ = f"no {name} in "

    def __call__(self, obj: Any) -> bool:
        """Whether it is."""
        return not hasattr(obj, self.name)


class HoldsLiteral:
    """A guard: an object of a subclass of int, str, ... holds a value."""

    def __init__(self, value: Any):
        self.value = value
        self.__qualname__ = f"{value!r} == "

    def __call__(self, obj: Any) -> bool:
        """Whether an object does."""
        return type(self.value).__repr__(obj) == repr(self.value)
