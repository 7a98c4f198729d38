"""Models of functions about objects: identity, copies, weak references, methods."""

from __future__ import annotations

import _thread
import copyreg
import operator
import types
import weakref
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.finalizers import is_programs, refuse_callback
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.builtin import NamespaceValue
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.function import BoundMethod
from girih.frontend.capture.values.getter import GetterValue
from girih.frontend.capture.values.number import RunTimeNumber
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.outside import WeakReferenceValue
from girih.frontend.capture.values.sequence import TupleValue


@models(id)
def _id(tracer, value):
    return tracer.address_of(value)


@models(_thread.get_ident)
def _get_ident(tracer):
    return RunTimeNumber(_thread.get_ident)


@models(types.MethodType)
def _method(tracer, function, owner):
    return BoundMethod(function, owner)


@models(dir)
def _dir(tracer, value):
    if not isinstance(value, (ClassValue, NamespaceValue)):
        return tracer.fold(dir, value.as_python())
    own = value.own_dir(tracer)
    if own is not None:
        return tracer.call(tracer.constant(sorted), [own], {})
    source = tracer.roots.constant(value.as_python())
    names = tracer.fold_raw(dir, value.as_python())
    tracer.guards.add(source, "call", HasNames(names))
    return tracer.from_python(names)


class HasNames:
    """A guard: the names that ``dir`` gives."""

    __qualname__ = "the same dir() of "

    def __init__(self, names: list[str]):
        self.names = names

    def __call__(self, value: Any) -> bool:
        """Whether it gives them."""
        return dir(value) == self.names


def _getter_model(cls: type):
    def model(tracer, /, *args, **kwargs):
        if not args:
            message = f"{cls.__name__} expected at least 1 argument, got 0"
            tracer.throw(TypeError, message)
        return GetterValue(cls, list(args), kwargs)

    return model


for _cls in (operator.itemgetter, operator.attrgetter, operator.methodcaller):
    models(_cls)(_getter_model(_cls))


@models(weakref.ref)
def _weak_reference(tracer, value, callback=None):
    real = value.identity()
    if isinstance(real, Value):
        unsupported(
            kind="weak reference to an object made while tracing",
            context=repr(value),
            explanation="Only Python knows when such an object dies.",
        )
    args = [] if callback is None else [tracer.known(callback).as_python()]
    if args and is_programs(args[0]):
        refuse_callback(value)
    made = tracer.fold_raw(weakref.ref, real, *args)
    source = tracer.roots.constant(made)
    if value.source is not None:
        tracer.guards.add(value.source, "call", IsReferent(real))
    return WeakReferenceValue(made, source)


class IsReferent:
    """A guard: an object is the one of a weak reference, which does not keep it."""

    def __init__(self, referent: object):
        self._reference = weakref.ref(referent)
        self.__qualname__ = f"{type(referent).__qualname__} that is referred to by "

    def __call__(self, obj: object) -> bool:
        """Whether it is."""
        return self._reference() is obj


@models(object.__reduce_ex__)
def _reduce_ex(tracer, value, protocol):
    """What ``copyreg.__reduce_ex__`` gives for an object of a Python class."""
    if not isinstance(value, ObjectValue) or protocol.as_python() < 2:
        unsupported(
            kind="copy or pickle of an object written in C",
            context=repr(value),
            explanation="girih does not know what the object is made of.",
        )
    own, _ = tracer.lookup(value.cls, "__reduce__")
    if isinstance(own, types.FunctionType):
        return tracer.call(tracer.get_attr(value, "__reduce__"), [], {})
    made = tracer.held(copyreg.__newobj__)
    items, pairs = _content(tracer, value)
    none = tracer.constant(None)
    parts = [made, TupleValue(_new_args(tracer, value)), _state(tracer, value)]
    return TupleValue([*parts, items or none, pairs or none])


def _new_args(tracer, value: ObjectValue) -> list[Value]:
    args = [tracer.constant(value.cls)]
    if tracer.lookup(value.cls, "__getnewargs_ex__")[1] is not None:
        unsupported(
            kind="copy of an object with __getnewargs_ex__",
            context=value.cls.__name__,
            explanation="Its keyword arguments are not modelled.",
        )
    getter, owner = tracer.lookup(value.cls, "__getnewargs__")
    if isinstance(getter, types.FunctionType):
        found = tracer.call(tracer.get_attr(value, "__getnewargs__"), [], {})
        return [*args, *tracer.iterate(found)]
    if isinstance(value.base, TupleValue):
        return [*args, TupleValue(list(value.base.items))]
    if isinstance(value.base, Constant):
        return [*args, tracer.constant(value.base.value)]
    assert owner is None, f"girih bug: __getnewargs__ of {owner}"
    return args


def _state(tracer, value: ObjectValue) -> Value:
    getter, owner = tracer.lookup(value.cls, "__getstate__")
    if isinstance(getter, types.FunctionType):
        return tracer.call(tracer.get_attr(value, "__getstate__"), [], {})
    attributes = tracer.constant(None)
    if getattr(value.cls, "__dictoffset__", 0):
        namespace = tracer.get_attr(value, "__dict__")
        attributes = tracer.call_method(namespace, "copy", [])
        if not attributes.length(tracer):
            attributes = tracer.constant(None)
    slots = _slots(tracer, value)
    if slots is None:
        return attributes
    return TupleValue([attributes, slots])


def _slots(tracer, value: ObjectValue) -> Value | None:
    names = copyreg._slotnames(value.cls)
    found = [(name, tracer.find_attr(value, name)) for name in names]
    pairs = [(tracer.constant(n), item) for n, item in found if item is not None]
    return tracer.dict_of(pairs) if pairs else None


def _content(tracer, value: ObjectValue) -> tuple[Value | None, Value | None]:
    """Iterators over the items of a list, and over the pairs of a dict."""
    kind = value.cls
    if issubclass(kind, list):
        return tracer.iterator(value), None
    if issubclass(kind, dict):
        return None, tracer.iterator(tracer.call_method(value, "items", []))
    if issubclass(kind, (set, frozenset)):
        unsupported(
            kind="copy of an object of a subclass of set",
            context=kind.__name__,
            explanation="girih does not model how it is copied.",
        )
    return None, None
