"""Models of functions of the standard library."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import importlib
import inspect
import json
import logging
import math
import operator
import os
import sys
import types
import typing
import warnings
from _collections import _count_elements

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import NotConstant
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.function import BoundMethod, PartialValue
from girih.frontend.capture.values.lookup import is_callable
from girih.frontend.capture.values.mapping import DictValue, ProxyValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.protocols import as_integer
from girih.frontend.capture.values.sequence import SequenceValue, TupleValue
from girih.frontend.capture.values.set import SetValue
from girih.frontend.capture.values.symbol import SymbolValue

BINARY = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.matmul,
    operator.lshift,
    operator.rshift,
    operator.and_,
    operator.or_,
    operator.xor,
)
IN_PLACE = {
    operator.add: operator.iadd,
    operator.sub: operator.isub,
    operator.mul: operator.imul,
    operator.truediv: operator.itruediv,
    operator.floordiv: operator.ifloordiv,
    operator.mod: operator.imod,
    operator.pow: operator.ipow,
    operator.matmul: operator.imatmul,
    operator.lshift: operator.ilshift,
    operator.rshift: operator.irshift,
    operator.and_: operator.iand,
    operator.or_: operator.ior,
    operator.xor: operator.ixor,
}
COMPARISONS = (
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
)
UNARY = (operator.neg, operator.pos, operator.invert, operator.abs)


def _register_operators() -> None:
    for function in BINARY:
        models(function)(lambda t, a, b, f=function: t.binary(f, a, b))
        in_place = IN_PLACE[function]
        models(in_place)(lambda t, a, b, f=function: t.binary(f, a, b, in_place=True))
    for function in COMPARISONS:
        models(function)(lambda t, a, b, f=function: t.compare(f, a, b))
    for function in UNARY:
        if function is not abs:
            models(function)(lambda t, a, f=function: t.unary(f, a))


_register_operators()


@models(operator.not_)
def _not(tracer, value):
    return tracer.constant(not value.truth(tracer))


@models(operator.truth)
def _truth(tracer, value):
    return tracer.constant(value.truth(tracer))


@models(operator.is_)
def _is(tracer, left, right):
    return tracer.constant(tracer.identical(left, right))


@models(operator.is_not)
def _is_not(tracer, left, right):
    return tracer.constant(not tracer.identical(left, right))


@models(operator.contains)
def _contains(tracer, container, item):
    return tracer.constant(container.contains(tracer, item))


@models(operator.getitem)
def _getitem(tracer, container, key):
    return tracer.get_item(container, key)


@models(operator.setitem)
def _setitem(tracer, container, key, value):
    container.set_item(tracer, key, value)
    return tracer.constant(None)


@models(operator.delitem)
def _delitem(tracer, container, key):
    container.delete_item(tracer, key)
    return tracer.constant(None)


@models(operator.concat)
def _concat(tracer, left, right):
    return tracer.binary(operator.add, left, right)


@models(operator.countOf)
def _count_of(tracer, items, item):
    count = sum(tracer.equal(own, item) for own in tracer.iterate(items))
    return tracer.constant(count)


@models(operator.indexOf)
def _index_of(tracer, items, item):
    for index, own in enumerate(tracer.iterate(items)):
        if tracer.equal(own, item):
            return tracer.constant(index)
    tracer.throw(ValueError, "sequence.index(x): x not in sequence")


@models(operator.length_hint)
def _length_hint(tracer, items, default=None):
    if isinstance(items, (SequenceValue, DictValue, DequeValue, SetValue)):
        return tracer.constant(items.length(tracer))
    raise NotConstant(items)


@models(operator.index)
def _index(tracer, value):
    return as_integer(tracer, value)


_MATH = (
    "acos acosh asin asinh atan atan2 atanh ceil comb copysign cos cosh degrees "
    "erf erfc exp expm1 fabs factorial floor fmod frexp gamma gcd hypot isclose "
    "isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nextafter "
    "perm pow radians remainder sin sinh sqrt tan tanh trunc ulp"
).split()


def _register_math() -> None:
    for name in _MATH:
        models(getattr(math, name))(functools.partial(_math, getattr(math, name)))


def _math(function, tracer, /, *args, **kwargs):
    if not kwargs and any(isinstance(arg, SymbolValue) for arg in args):
        return tracer.symbolic(function, list(args))
    known = {name: tracer.known(value).as_python() for name, value in kwargs.items()}
    items = [tracer.known(arg).as_python() for arg in args]
    return tracer.fold(function, *items, **known)


_register_math()


# functools


@models(str.maketrans)
def _translation(tracer, *tables):
    return _math(str.maketrans, tracer, *tables)


@models(functools.partial)
def _partial(tracer, function, /, *args, **kwargs):
    if isinstance(function, PartialValue):  # partials of partials are flat
        kwargs = {**function.kwargs, **kwargs}
        args = [*function.args, *args]
        function = function.function
    return PartialValue(function, list(args), kwargs)


@models(functools.reduce)
def _reduce(tracer, function, items, initial=None):
    rest = tracer.iterate(items)
    total = next(rest, None) if initial is None else initial
    if total is None:
        tracer.throw(TypeError, "reduce() of empty iterable with no initial value")
    for item in rest:
        total = tracer.call(function, [total, item], {})
    return total


@models(functools.update_wrapper)
def _update_wrapper(tracer, wrapper, wrapped, assigned=None, updated=None):
    names = functools.WRAPPER_ASSIGNMENTS if assigned is None else assigned.as_python()
    for name in names:
        found = tracer.find_attr(wrapped, name)
        if found is not None:
            wrapper.set_attr(tracer, name, found)
    dicts = functools.WRAPPER_UPDATES if updated is None else updated.as_python()
    for name in dicts:
        namespace = tracer.get_attr(wrapper, name)
        found = tracer.find_attr(wrapped, name) or tracer.dict_of([])
        tracer.call(tracer.get_attr(namespace, "update"), [found], {})
    wrapper.set_attr(tracer, "__wrapped__", wrapped)
    return wrapper


# collections and dataclasses


@models(collections.deque)
def _deque(tracer, iterable=None, maxlen=None):
    made = DequeValue([])
    made.method___init__(tracer, iterable, maxlen)
    return made


@models(_count_elements)
def _count(tracer, mapping, items):
    """The loop that ``Counter.update`` runs in C."""
    zero, one = tracer.constant(0), tracer.constant(1)
    getter = tracer.get_attr(mapping, "get")
    for item in tracer.iterate(items):
        count = tracer.call(getter, [item, zero], {})
        mapping.set_item(tracer, item, tracer.binary(operator.add, count, one))
    return tracer.constant(None)


@models(collections.OrderedDict)
def _ordered_dict(tracer, /, *args, **kwargs):
    made = DictValue(cls=collections.OrderedDict)
    made.method_update(tracer, *args, **kwargs)
    return made


@models(collections.defaultdict)
def _defaultdict(tracer, factory=None, /, *args, **kwargs):
    made = DictValue(cls=collections.defaultdict)
    made.factory = tracer.constant(None) if factory is None else factory
    if not tracer.is_none(made.factory) and not is_callable(tracer, made.factory):
        tracer.throw(TypeError, "first argument must be callable or None")
    made.method_update(tracer, *args, **kwargs)
    return made


@models(dict.fromkeys)
def _dict_from_keys(tracer, keys, value=None):
    filler = tracer.constant(None) if value is None else value
    known = keys.ordered_keys(tracer) if isinstance(keys, SetValue) else None
    if isinstance(keys, DictValue):
        known = list(keys.read_all(tracer))
    if known is not None:  # their hashes are kept
        return DictValue(dict.fromkeys(known, filler))
    return tracer.dict_of([(key, filler) for key in tracer.iterate(keys)])


@models(types.MappingProxyType)
def _proxy(tracer, mapping):
    if not isinstance(mapping, DictValue):
        return tracer.fold(types.MappingProxyType, mapping.as_python())
    made = ProxyValue(mapping.read_all(tracer), mapping.cls)
    made.owner = mapping
    return made


@models(dataclasses.fields)
def _fields(tracer, value):
    cls = _class_of(value)
    if not dataclasses.is_dataclass(cls):
        tracer.throw(TypeError, "must be called with a dataclass type or instance")
    return TupleValue([tracer.held(field) for field in dataclasses.fields(cls)])


@models(dataclasses.is_dataclass)
def _is_dataclass(tracer, value):
    return tracer.constant(dataclasses.is_dataclass(_class_of(value)))


def _class_of(value):
    cls = value.python_type()
    return value.as_python() if issubclass(cls, type) else cls


# Others


@models(typing.cast)
def _cast(tracer, cls, value):
    return value


@models(inspect.signature)
def _signature(tracer, /, function, **kwargs):
    known = {name: value.as_python() for name, value in kwargs.items()}
    is_method = isinstance(function, BoundMethod)
    python = function.function.as_python() if is_method else function.as_python()
    signature = tracer.fold_raw(inspect.signature, python, **known)
    if is_method:
        parameters = list(signature.parameters.values())[1:]
        signature = signature.replace(parameters=parameters)
    return tracer.held(signature)


_KINDS = {
    inspect.isfunction: types.FunctionType,
    inspect.ismethod: types.MethodType,
    inspect.isclass: type,
    inspect.ismodule: types.ModuleType,
}


def _register_kinds() -> None:
    for function, cls in _KINDS.items():
        models(function)(
            lambda t, value, c=cls: t.constant(issubclass(value.python_type(), c))
        )


_register_kinds()


@models(warnings.warn)
def _warn(tracer, /, *args, **kwargs):
    unsupported(
        kind="warnings.warn",
        explanation="A graph cannot issue the warning at each call.",
        hints=("Warn outside of compiled code.",),
    )


_LOGGING = {
    logging.Logger.debug: logging.DEBUG,
    logging.Logger.info: logging.INFO,
    logging.Logger.warning: logging.WARNING,
    logging.Logger.error: logging.ERROR,
}


class _Silent:
    """A guard: a logger drops messages of a level."""

    def __init__(self, level: int):
        self.level = level
        self.__qualname__ = f"not level {level} enabled for "

    def __call__(self, logger: logging.Logger) -> bool:
        return not logger.isEnabledFor(self.level)


def _log_model(level: int):
    def model(tracer, /, logger, *args, **kwargs):
        if logger.real is None or logger.real.isEnabledFor(level):
            unsupported(
                kind="message to a logger",
                context=f"level {level}",
                explanation="A graph cannot log the message at each call.",
                hints=("Log outside of compiled code.",),
            )
        tracer.guards.add(logger.source, "call", _Silent(level))
        return tracer.constant(None)

    return model


for _function, _level in _LOGGING.items():
    models(_function)(_log_model(_level))


@models(importlib.import_module)
def _import_module(tracer, name, package=None):
    python = name.as_python()
    if package is not None:
        python = importlib.util.resolve_name(python, package.as_python())
    return tracer.imported(python)


@models(os.environ.get, os.getenv)
def _environment(tracer, name, default=None):
    found = os.environ.get(name.as_python())
    if found is None and default is not None:
        return default
    return tracer.constant(found)


def nothing_is_handled(module: types.ModuleType) -> bool:
    """A guard: the call is not made while an exception is being handled."""
    return module.exc_info()[1] is None


@models(sys.exception)
def _exception(tracer):
    return _exc_info(tracer).items[1]


@models(sys.exc_info)
def _exc_info(tracer):
    handling = [frame.handled[-1] for frame in tracer.frames if frame.handled]
    if handling:
        value = handling[-1]
        trace = tracer.get_attr(value, "__traceback__")
        return TupleValue([tracer.constant(value.python_type()), value, trace])
    if not nothing_is_handled(sys):
        unsupported(
            kind="sys.exc_info()",
            explanation="Tracebacks are not modelled.",
        )
    tracer.guards.add(tracer.roots.constant(sys), "call", nothing_is_handled)
    return TupleValue([tracer.constant(None)] * 3)


@models(types.SimpleNamespace)
def _namespace(tracer, /, **kwargs):
    made = ObjectValue(types.SimpleNamespace)
    made.attributes.update(kwargs)
    return made


for _function in (json.loads, json.dumps):
    models(_function)(functools.partial(_math, _function))


@models(contextlib.nullcontext.__init__)
def _nullcontext(tracer, owner, enter_result=None):
    result = tracer.constant(None) if enter_result is None else enter_result
    owner.set_attr(tracer, "enter_result", result)
    return tracer.constant(None)
