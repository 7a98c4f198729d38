"""What ``classmethod`` binds: a function, or what a descriptor below it gives."""

from __future__ import annotations

import types

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.function import BoundMethod
from girih.frontend.capture.values.lookup import (
    FUNCTION_TYPES,
    MISSING,
    static_lookup,
)


class _Chained:
    asked = classmethod(property(lambda cls: True))


# CPython 3.9 to 3.12 ask a descriptor under ``classmethod``, with the class as object.
_CHAINS = _Chained.asked is True


def bind_class_method(tracer, holder: type, name: str, owner: Value) -> Value:
    """The attribute of a class for a ``classmethod`` in it.

    Args:
        tracer: The tracer.
        holder: The class that is searched.
        name: The name of the attribute.
        owner: The class that it is bound to.
    """
    below = static_lookup(holder, name)[0].__func__
    function = tracer.class_member(holder, name, part="__func__")
    if not _CHAINS or isinstance(below, FUNCTION_TYPES):
        return BoundMethod(function, owner)
    getter, _ = tracer.lookup(type(below), "__get__")
    if getter is MISSING:
        return BoundMethod(function, owner)
    if isinstance(below, property) and below.fget is not None:
        return tracer.call(tracer.held(below.fget), [owner], {})
    if isinstance(getter, types.FunctionType):
        method = tracer.class_member(type(below), "__get__")
        return tracer.call(method, [function, owner, owner], {})
    unsupported(
        kind="descriptor under classmethod",
        context=f"{holder.__name__}.{name} is a {type(below).__name__}",
        explanation="girih does not model this kind of descriptor.",
    )
