"""Making traced values of Python objects that existed before the call."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import inspect
import re
import types
import weakref
from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture import _frame
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.builtin import (
    BuiltinValue,
    NamespaceValue,
    OpaqueValue,
)
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import LITERALS, Constant, EnumMember
from girih.frontend.capture.values.function import (
    BoundMethod,
    FunctionValue,
    PartialValue,
)
from girih.frontend.capture.values.mapping import DictValue, SetValue
from girih.frontend.capture.values.module import ModuleValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import ListValue, SliceValue, TupleValue

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
    types.CodeType,
    dataclasses.Field,
    inspect.Signature,
    inspect.Parameter,
    re.Pattern,
    type(dataclasses.MISSING),
    type(inspect.Parameter.empty),
    types.GenericAlias,
    types.UnionType,
    type(list[int] | None),
)
_BUILTIN_FUNCTIONS = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    functools._lru_cache_wrapper,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
    torch._ops._OpNamespace,
    torch._ops._Ops,
)


def wrap(tracer, obj: Any, source: Source) -> Value:
    """The traced value of an object; guards what telling its kind apart took."""
    maker = _MAKERS.get(type(obj))
    if maker is None:
        maker = _MAKERS[type(obj)] if _register(type(obj)) else _maker_of(obj)
    return maker(tracer, obj, source)


def _register(cls: type) -> bool:
    """Finds the maker for a class that was not met before."""
    for base, maker in _BASES:
        if issubclass(cls, base):
            _MAKERS[cls] = maker
            return True
    return False


def _maker_of(obj: Any):
    return _object


def _literal(tracer, obj, source):
    return Constant(obj, source, tracer)


def _identity_constant(tracer, obj, source):
    return Constant(obj, source, tracer, by_identity=True)


def _equal_constant(tracer, obj, source):
    return Constant(obj, source, tracer)


def _enum_member(tracer, obj, source):
    return EnumMember(obj, source, tracer)


def _tensor(tracer, obj, source):
    return tracer.tensor(obj, source)


def _items(tracer, obj, source) -> list[Value]:
    tracer.guards.add(source, "type", type(obj))
    tracer.guards.add(source, "length", len(obj))
    return [tracer.wrap(item, source.index(i)) for i, item in enumerate(obj)]


def _tuple(tracer, obj, source):
    return TupleValue(_items(tracer, obj, source), type(obj), source)


def _list(tracer, obj, source):
    value = ListValue([], list, source)
    tracer.remember(obj, value)  # a list may hold itself
    value.items = _items(tracer, obj, source)
    return value


def _dict(tracer, obj, source):
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
    parts = ("start", "stop", "step")
    return SliceValue(
        *(tracer.wrap(getattr(obj, part), source.attribute(part)) for part in parts)
    )


def _class(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    return ClassValue(obj, source)


def _function(tracer, obj, source):
    if source is not tracer.roots.function:
        tracer.guards.add(source, "is", obj)
    tracer.guards.add(source, "code", obj.__code__)
    return FunctionValue.of(obj, source)


def _compiled(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    return tracer.held(obj.__wrapped__)


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
    return PartialValue(function, args.items, named)


def _builtin(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    return BuiltinValue(obj, source)


def _namespace(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    return NamespaceValue(obj, source)


def _module(tracer, obj, source):
    tracer.guards.add(source, "type", type(obj))
    return ModuleValue(type(obj), source, real=obj)


def _exception(tracer, obj, source):
    unsupported(
        kind="an exception object from outside",
        context=type(obj).__name__,
        explanation="Exceptions that existed before the call are not modelled.",
    )


def _opaque(tracer, obj, source):
    tracer.guards.add(source, "is", obj)
    return OpaqueValue(obj, source)


def _object(tracer, obj, source):
    cls = type(obj)
    tracer.guards.add(source, "type", cls)
    value = ObjectValue(cls, source, real=obj)
    if isinstance(obj, dict):
        value.base = DictValue({}, cls, source, real=obj)
    elif isinstance(obj, tuple):
        value.base = TupleValue(_items(tracer, obj, source), cls, source)
    elif isinstance(obj, list):
        value.base = ListValue(_items(tracer, obj, source), cls, source)
    elif isinstance(obj, (set, frozenset)):
        value.base = SetValue((), cls, source, real=obj)
    return value


def _named_tuple(tracer, obj, source):
    if hasattr(type(obj), "_fields") or type(obj).__module__ == "torch.return_types":
        return _tuple(tracer, obj, source)
    return _object(tracer, obj, source)


_MAKERS: dict[type, Any] = {
    **dict.fromkeys(LITERALS, _literal),
    **dict.fromkeys(_IDENTITY_CONSTANTS, _identity_constant),
    **dict.fromkeys(_BUILTIN_FUNCTIONS, _builtin),
    torch.device: _equal_constant,
    torch.Tensor: _tensor,
    torch.nn.Parameter: _tensor,
    torch.Size: _tuple,
    tuple: _tuple,
    list: _list,
    dict: _dict,
    collections.OrderedDict: _dict,
    collections.defaultdict: _dict,
    types.MappingProxyType: _opaque,
    set: _set,
    frozenset: _set,
    slice: _slice,
    type: _class,
    types.FunctionType: _function,
    types.MethodType: _method,
    functools.partial: _partial,
    types.ModuleType: _namespace,
}

# For subclasses, in this order.
_BASES = (
    (_frame.Dispatcher, _compiled),
    (torch.nn.Module, _module),
    (torch.Tensor, _tensor),
    (type, _class),
    (enum.Enum, _enum_member),
    (types.ModuleType, _namespace),
    (torch._ops.OpOverload, _builtin),
    (torch._ops.OpOverloadPacket, _builtin),
    (torch._ops._OpNamespace, _builtin),
    (BaseException, _exception),
    (tuple, _named_tuple),
    (weakref.ref, _opaque),
    (types.GeneratorType, _opaque),
    (types.CoroutineType, _opaque),
    (torch.Generator, _opaque),
)
