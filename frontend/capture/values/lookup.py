"""Looking things up in classes, by the rules of Python's attribute access."""

from __future__ import annotations

import collections
import functools
import os
import sysconfig
import types
from typing import Any

import torch

from girih.frontend.capture import _frame
from girih.frontend.capture.values.base import BOUND_TYPES, Value

MISSING = object()
_HEAP_TYPE = 1 << 9  # of a type's flags: made by a class statement
_IMMUTABLE_TYPE = 1 << 8
SLOT_TYPES = (types.MemberDescriptorType, types.GetSetDescriptorType)
FUNCTION_TYPES = (types.FunctionType, _frame.Dispatcher, functools._lru_cache_wrapper)
_ITERATION = ("__iter__", "__getitem__")
_LIBRARIES = tuple(
    {sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")}
    | {os.path.dirname(os.path.dirname(torch.__file__)) + os.sep}
)
TUPLE_FIELD = type(collections.namedtuple("Field", "x").x)  # of a named tuple
C_METHODS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)


def static_lookup(cls: type, name: str) -> tuple[Any, type | None]:
    """What the classes of the MRO hold under ``name``, and which one."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name], base
    return MISSING, None


def is_of_library(function: Any) -> bool:
    """Whether a function was installed with a package, or is Python's own."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename.startswith(_LIBRARIES)


def is_torchs_function(function: types.FunctionType) -> bool:
    """Whether a function stands in torch: ``functools.wraps`` copies ``__module__``."""
    return str(function.__globals__.get("__name__")).split(".")[0] == "torch"


def is_changeable(cls: type) -> bool:
    """Whether a program can change a class."""
    return cls.__flags__ & (_HEAP_TYPE | _IMMUTABLE_TYPE) == _HEAP_TYPE


def is_callable(tracer, value: Value) -> bool:
    """``callable(value)``."""
    return tracer.lookup(value.python_type(), "__call__")[1] is not None


def is_iterable(tracer, value: Value) -> bool:
    """Whether ``iter(value)`` asks the value at all."""
    found = (tracer.lookup(value.python_type(), name) for name in _ITERATION)
    return any(member is not MISSING for member, _ in found)


def has_getter(member: Any) -> bool:
    """Whether a class member says itself what reading the attribute gives."""
    return static_lookup(type(member), "__get__")[0] is not MISSING


def takes_assignment(member: Any) -> bool:
    """Whether an assignment to the attribute goes to a class member."""
    parts = ("__set__", "__delete__")
    return any(static_lookup(type(member), p)[0] is not MISSING for p in parts)


def c_base(cls: type) -> type:
    """The class of the MRO, written in C, that the objects are made of."""
    for base in cls.__mro__:
        maker = base.__dict__.get("__new__")
        is_static = not base.__flags__ & _HEAP_TYPE
        if is_static or isinstance(maker, types.BuiltinFunctionType):
            return base
    return object


def c_method(cls: type, name: str) -> Any:
    """The method, written in C, that a class inherits from its builtin base."""
    for base in cls.__mro__:
        method = base.__dict__.get(name)
        if isinstance(
            method, (types.WrapperDescriptorType, types.MethodDescriptorType)
        ):
            return method
    raise AssertionError(f"girih bug: {cls} inherits no builtin {name}")


def content_of(container: Any) -> list:
    """The items or keys of a container, past an ``__iter__`` of its own class."""
    return list(c_method(type(container), "__iter__")(container))


def call_builtin(container: Any, name: str, *args: Any) -> Any:
    """Calls a method of a container, past one that its own class puts in its place."""
    return c_method(type(container), name)(container, *args)


def length_of(container: Any) -> int:
    """The number of items of a container, past a ``__len__`` of its own class."""
    return call_builtin(container, "__len__")


def is_in(item: Any, container: Any) -> bool:
    """Whether a container has an item, past a ``__contains__`` of its own class."""
    return call_builtin(container, "__contains__", item)


def is_same_key(key: Any, other: Any) -> bool:
    """Whether two keys of dicts or sets are one key of one class.

    Their hashes are compared first, as dicts do: ``==`` of two tensors is no answer.
    """
    if key is other:
        return True
    if type(key) is not type(other) or hash(key) != hash(other):
        return False
    if type(key) is tuple:
        pairs = zip(key, other, strict=False)
        return len(key) == len(other) and all(is_same_key(*pair) for pair in pairs)
    if type(key) is float:  # tells -0.0 from 0.0
        return repr(key) == repr(other)
    return bool(key == other)


def has_python_layer(cls: type) -> bool:
    """Whether a class statement made the class, or one of its bases."""
    marks = {"__slots__", "__dict__", "__weakref__"}
    return any(marks & base.__dict__.keys() for base in cls.__mro__)


# What `namedtuple()` and class statements put into a class, besides its methods.
_OF_NAMED_TUPLES = frozenset(
    """__new__ __repr__ __replace__ __getnewargs__ __slots__ __doc__ __match_args__
    __module__ __qualname__ __annotations__ __annotate__ __annotate_func__
    __annotations_cache__ __orig_bases__ __parameters__ __class_getitem__ __dict__
    __weakref__ __static_attributes__ __firstlineno__ __str__ __reduce__""".split()
)


def is_plain_tuple_class(cls: type) -> bool:
    """Whether objects of a class are tuples with names for the items, and no more.

    Other classes derived from ``tuple`` may say what ``==``, ``len`` or ``+`` mean.
    """
    if cls is tuple or issubclass(cls, torch.Size):
        return True
    if cls.__module__ == "torch.return_types":
        return True
    own = cls.__mro__[: cls.__mro__.index(tuple)]
    names = {name for base in own for name in base.__dict__ if name.startswith("__")}
    if not hasattr(cls, "_fields") or not names <= _OF_NAMED_TUPLES:
        return False
    fields = (static_lookup(cls, name)[0] for name in cls._fields)
    return all(isinstance(field, TUPLE_FIELD) for field in fields)


class DescriptorMethod(Value):
    """A C method of a builtin class, bound to an object of a subclass."""

    def __init__(self, descriptor, owner: Value):
        self.descriptor = descriptor
        self.owner = owner

    def python_type(self) -> type:
        """The type of bound C methods of this kind."""
        return BOUND_TYPES[type(self.descriptor)]

    def call(self, tracer, args, kwargs):
        """Calls it on the part of the object that is of the builtin class."""
        tracer.caller = None
        return self.owner.call_c_method(tracer, self.descriptor, args, kwargs)
