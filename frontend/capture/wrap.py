"""Making traced values of Python objects that existed before the call."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import operator
import re
import types
import typing
import weakref
from collections import deque
from typing import Any

import torch

from girih.frontend.capture import _frame
from girih.frontend.capture.numpy_numbers import FUNCTION_TYPES, NUMBERS
from girih.frontend.capture.resume.origin import origin_of
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.base import Method, Value
from girih.frontend.capture.values.builtin import BuiltinValue, NamespaceValue
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import (
    LITERALS,
    Constant,
    EnumMember,
    HasText,
    TextConstant,
)
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.exception_making import wrap_exception
from girih.frontend.capture.values.function import (
    BoundMethod,
    FunctionValue,
    PartialValue,
)
from girih.frontend.capture.values.getter import GetterValue
from girih.frontend.capture.values.instance_dict import InstanceDictValue
from girih.frontend.capture.values.lookup import (
    C_METHODS,
    c_base,
    content_of,
    has_python_layer,
    is_of_library,
    is_plain_tuple_class,
    length_of,
    static_lookup,
)
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.module import ModuleValue
from girih.frontend.capture.values.object import (
    LITERAL_BASES,
    LiteralPart,
    ObjectValue,
)
from girih.frontend.capture.values.outside import (
    CACHED,
    COROUTINE,
    GENERATOR,
    ITERATOR,
    NAMESPACE,
    TENSOR_SUBCLASS,
    WRITTEN_IN_C,
    OutsideValue,
    Reason,
    WeakReferenceValue,
    is_odd_tensor,
    reason_against_tensor,
)
from girih.frontend.capture.values.sequence import ListValue, SliceValue, TupleValue
from girih.frontend.capture.values.set import SetValue

# Classes are not kept alive by having been met.
_found_before: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()

# Compared by identity; attributes and calls are folded.
_IDENTITY_CONSTANTS = (
    bool,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    torch.dtype,
    torch.layout,
    torch.memory_format,
    torch.qscheme,
    torch._C._SDPBackend,
    types.CodeType,
    dataclasses.Field,
    inspect.Signature,
    inspect.Parameter,
    re.Pattern,
    re.Match,
    type(dataclasses.MISSING),
    type(inspect.Parameter.empty),
    types.GenericAlias,
    types.UnionType,
    type(list[int] | None),
)
# Immutable objects written in C that compare as equal though they differ.
_TEXT_CONSTANTS = (
    datetime.date,
    datetime.time,
    datetime.datetime,
    datetime.timedelta,
    datetime.timezone,
    decimal.Decimal,
    torch.finfo,
    torch.iinfo,
)
_BUILTIN_FUNCTIONS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
    torch._ops._OpNamespace,
    torch._ops._Ops,
)


def wrap(tracer, obj: Any, source: Source) -> Value:
    """The traced value of an object; guards what telling its kind apart took."""
    cls = type(obj)
    maker = _MAKERS.get(cls) or _found_before.get(cls)
    if maker is None:
        maker = _found_before[cls] = _maker_of(cls)
    return maker(tracer, obj, source)


def _maker_of(cls: type):
    """The maker for a class that no table names."""
    for base, maker in _BASES:
        if issubclass(cls, base):
            return maker
    if cls is object or has_python_layer(cls):
        return _object
    is_iterator = static_lookup(cls, "__next__")[1] is not None
    return _outside(ITERATOR if is_iterator else WRITTEN_IN_C)


def _number(tracer, obj, source):
    return tracer.graph.number(obj, source)


def _literal(tracer, obj, source):
    return Constant(obj, source, tracer)


def _number_of_numpy(tracer, obj, source):
    is_held = source.access == "constant"
    return Constant(obj) if is_held else Constant(obj, source, tracer)


def _identity_constant(tracer, obj, source):
    return Constant(obj, source, tracer, by_identity=True)


def _equal_constant(tracer, obj, source):
    return Constant(obj, source, tracer)


def _text_constant(tracer, obj, source):
    return TextConstant(obj, source, tracer)


def _enum_member(tracer, obj, source):
    return EnumMember(obj, source, tracer)


def _tensor(tracer, obj, source):
    reason = reason_against_tensor(obj)
    if reason is None:
        return tracer.tensor(obj, source)
    tracer.guards.add(source, "type", type(obj))
    if reason is not TENSOR_SUBCLASS:
        tracer.guards.add(source, "call", is_odd_tensor)
    return OutsideValue(obj, source, reason)


def _items(tracer, obj, source) -> list[Value]:
    tracer.guards.add(source, "type", type(obj))
    plain = tuple if issubclass(type(obj), tuple) else list
    items = list(plain.__iter__(obj))  # past what a subclass overrides
    tracer.guards.add(source, "length", len(items))
    return [tracer.wrap(item, source.index(i)) for i, item in enumerate(items)]


def _tuple(tracer, obj, source):
    tracer.guard_tuple_class(type(obj))
    return TupleValue(_items(tracer, obj, source), type(obj), source)


def _list(tracer, obj, source):
    tracer.guards.add(source, "type", list)
    value = ListValue([], list, source)

    def read() -> list[Value]:
        tracer.sizes.check_length(source)
        return _items(tracer, obj, source)

    value.read_later(read)
    return value


def _deque(tracer, obj, source):
    tracer.guards.add(source, "type", deque)
    maxlen = tracer.wrap(obj.maxlen, source.attribute("maxlen")).as_python()
    value = DequeValue([], maxlen, source)
    tracer.remember(obj, value)  # a deque may hold itself

    def read() -> list[Value]:
        tracer.sizes.check_length(source)
        tracer.guards.add(source, "length", length_of(obj))
        items = enumerate(content_of(obj))
        return [tracer.wrap(item, source.item(i)) for i, item in items]

    value.content.read_later(read)
    return value


def _dict(tracer, obj, source):
    owner = tracer.namespaces.get(id(obj))
    if owner is not None:
        tracer.guards.add(source, "same_as", owner.source.instance_dict())
        return InstanceDictValue(owner)
    if "__name__" in obj and "__spec__" in obj:
        tracer.guards.add(source, "type", type(obj))
        return OutsideValue(obj, source, NAMESPACE)
    tracer.guards.add(source, "type", type(obj))
    value = DictValue({}, type(obj), source, real=obj)
    if type(obj) is collections.defaultdict:
        factory = source.attribute("default_factory")
        value.factory = tracer.wrap(obj.default_factory, factory)
    return value


def _set(tracer, obj, source):
    tracer.guards.add(source, "type", type(obj))
    return SetValue((), type(obj), source, real=obj)


def _slice(tracer, obj, source):
    tracer.guards.add(source, "type", slice)
    names = ("start", "stop", "step")
    parts = (tracer.wrap(getattr(obj, n), source.attribute(n)) for n in names)
    return SliceValue(*parts, source=source)


def _class(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    return ClassValue(obj, source)


def _function(tracer, obj, source):
    is_root = source is tracer.roots.function
    by_code = is_root or _is_made_anew(obj, source)
    tracer.guards.add(source, "code", obj.__code__)
    value = FunctionValue.of(obj, source)
    if by_code:
        value.by_code = tracer
    else:
        tracer.guards.add(source, "is", obj)
    if by_code and not is_root:
        tracer.guards.add(source.attribute("__globals__"), "is", obj.__globals__)
    return value


def _cell(tracer, obj, source):
    tracer.guards.add(source, "type", types.CellType)
    return tracer.cell(obj, source)


def _is_made_anew(obj, source: Source) -> bool:
    """Whether each call may bring another function of the same code."""
    is_inner = "<locals>" in obj.__qualname__ or origin_of(obj.__code__) is not None
    is_given = source.root().access == "local" or source.is_in_dict_order()
    return is_inner and is_given


def _compiled(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    return tracer.held(obj.function)


def _method(tracer, obj, source):
    tracer.guards.add(source, "type", types.MethodType)
    owner = tracer.wrap(obj.__self__, source.attribute("__self__"))
    function = tracer.wrap(obj.__func__, source.attribute("__func__"))
    return BoundMethod(function, owner, source)


def _partial(tracer, obj, source):
    tracer.guards.add(source, "type", functools.partial)
    function = tracer.wrap(obj.func, source.attribute("func"))
    args = tracer.wrap(obj.args, source.attribute("args"))
    keywords = tracer.wrap(obj.keywords, source.attribute("keywords"))
    named = {
        key.value.as_python(): value for key, value in keywords.read_all(tracer).items()
    }
    return PartialValue(function, args.items, named, source, obj)


def _builtin(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    return BuiltinValue(obj, source)


def _getter(tracer, obj, source):
    cls, args = obj.__reduce__()
    tracer.guards.add(source, "type", type(obj))
    if cls is not type(obj) or not all(isinstance(arg, LITERALS) for arg in args):
        return OutsideValue(obj, source)
    tracer.guards.add(source, "call", HasText(repr(obj)))
    return GetterValue(cls, [Constant(arg) for arg in args], {}, source)


def _cached_function(tracer, obj, source):
    if not is_of_library(obj.__wrapped__):
        tracer.guards.add(source, "type", type(obj))
        return OutsideValue(obj, source, CACHED)
    return _builtin(tracer, obj, source)


def _builtin_or_method(tracer, obj, source):
    owner = obj.__self__
    member, _ = static_lookup(type(owner), obj.__name__)
    if isinstance(owner, type) or not isinstance(member, C_METHODS):
        return _builtin(tracer, obj, source)
    tracer.guards.add(source, "type", type(obj))
    tracer.guards.add(source.attribute("__name__"), "equals", obj.__name__)
    value = tracer.wrap(owner, source.attribute("__self__"))
    return Method(value, obj.__name__, source)


def _namespace(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    tracer.guards.add(source, "type", type(obj))
    return NamespaceValue(obj, source)


def _module(tracer, obj, source):
    tracer.guards.add(source, "type", type(obj))
    return ModuleValue(type(obj), source, real=obj)


def _outside(reason: Reason):
    def make(tracer, obj, source):
        tracer.guards.add(source, "type", type(obj))
        return OutsideValue(obj, source, reason)

    return make


def _weak_reference(tracer, obj, source):
    tracer.guards.add(source, "type", type(obj))
    return WeakReferenceValue(obj, source)


def _object(tracer, obj, source):
    cls = type(obj)
    tracer.guards.add(source, "type", cls)
    value = ObjectValue(cls, source, real=obj)
    tracer.remember(obj, value)  # its items may hold it
    if issubclass(cls, dict):
        value.base = DictValue({}, c_base(cls), source, real=obj)
        value.base.is_part = True
    elif issubclass(cls, tuple):
        value.base = TupleValue(_items(tracer, obj, source), tuple, source)
    elif issubclass(cls, list):
        value.base = ListValue([], list, source)
        value.base.is_part = True
        value.base.items = _items(tracer, obj, source)
    elif issubclass(cls, (set, frozenset)):
        value.base = SetValue((), c_base(cls), source, real=obj)
        value.base.is_part = True
    elif issubclass(cls, LITERAL_BASES):
        value.base = LiteralPart(_plain_part(obj), source, tracer)
    return value


def _plain_part(obj: Any) -> Any:
    """The number or text in an object of a subclass of int, str, ...."""
    plain = next(base for base in LITERAL_BASES if issubclass(type(obj), base))
    if plain in (str, bytes):
        return plain.__getitem__(obj, slice(None))
    return plain.__pos__(obj)


def _named_tuple(tracer, obj, source):
    if not is_plain_tuple_class(type(obj)) or getattr(obj, "__dict__", None):
        return _object(tracer, obj, source)
    if hasattr(obj, "__dict__"):
        tracer.guards.add(source.instance_dict(), "keys", ())
    return _tuple(tracer, obj, source)


_MAKERS: dict[type, Any] = {
    **dict.fromkeys(LITERALS, _literal),
    int: _number,
    float: _number,
    **dict.fromkeys(_IDENTITY_CONSTANTS, _identity_constant),
    **dict.fromkeys(_BUILTIN_FUNCTIONS, _builtin),
    types.BuiltinFunctionType: _builtin_or_method,
    functools._lru_cache_wrapper: _cached_function,
    operator.itemgetter: _getter,
    operator.attrgetter: _getter,
    operator.methodcaller: _getter,
    types.MethodWrapperType: _builtin_or_method,
    **dict.fromkeys(_TEXT_CONSTANTS, _text_constant),
    torch.device: _equal_constant,
    torch.Tensor: _tensor,
    torch.nn.Parameter: _tensor,
    torch.Size: _tuple,
    tuple: _tuple,
    list: _list,
    dict: _dict,
    collections.OrderedDict: _dict,
    collections.defaultdict: _dict,
    types.MappingProxyType: _outside(WRITTEN_IN_C),
    deque: _deque,
    set: _set,
    frozenset: _set,
    slice: _slice,
    type: _class,
    types.FunctionType: _function,
    types.CellType: _cell,
    types.MethodType: _method,
    functools.partial: _partial,
    types.ModuleType: _namespace,
}

# For subclasses, in this order.
_BASES = (
    (_frame.Dispatcher, _compiled),
    (torch.nn.Module, _module),
    (NUMBERS, _number_of_numpy),
    (FUNCTION_TYPES, _builtin),
    (torch.Tensor, _tensor),
    (type, _class),
    (enum.Enum, _enum_member),
    (types.ModuleType, _namespace),
    (torch._ops.OpOverload, _builtin),
    (torch._ops.OpOverloadPacket, _builtin),
    (torch._ops._OpNamespace, _builtin),
    (BaseException, wrap_exception),
    (typing._Final, _identity_constant),
    (tuple, _named_tuple),
    ((dict, list, set, frozenset), _object),
    (weakref.ref, _weak_reference),
    (types.GeneratorType, _outside(ITERATOR)),
    (types.CoroutineType, _outside(COROUTINE)),
    (types.AsyncGeneratorType, _outside(COROUTINE)),
    (torch.Generator, _outside(GENERATOR)),
)
