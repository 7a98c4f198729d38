"""Traced values of exceptions: of new ones, and of those that Python made."""

from __future__ import annotations

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import LITERALS
from girih.frontend.capture.values.exception import (
    ExceptionValue,
    builtin_base,
    c_attributes,
    new_single,
)
from girih.frontend.capture.values.exception_group import GroupValue, new_group


def new_exception(tracer, cls, args: list[Value], kwargs: dict) -> ExceptionValue:
    """``cls.__new__(cls, *args, **kwargs)`` of a class of exceptions."""
    if issubclass(cls, BaseExceptionGroup):
        return new_group(tracer, cls, args)
    return new_single(tracer, cls, args)


def exception_like(tracer, error: BaseException) -> ExceptionValue:
    """The traced value of an exception that Python raised while folding."""
    args = [tracer.from_python(arg) for arg in error.args]
    if isinstance(error, BaseExceptionGroup):
        return new_exception(tracer, type(error), args, {})
    made = ExceptionValue(type(error), args)
    made.is_implicit = True
    for name in c_attributes(builtin_base(type(error))):
        value = getattr(error, name)
        if value is None or isinstance(value, LITERALS):
            made.attributes[name] = tracer.from_python(value)
    for name, value in vars(error).items():
        made.attributes[name] = tracer.from_python(value)
    return made


def wrap_exception(tracer, obj: BaseException, source) -> ExceptionValue:
    """The traced value of an exception that existed before the call."""
    tracer.guards.add(source, "type", type(obj))
    if isinstance(obj, BaseExceptionGroup):
        return GroupValue(type(obj), [], source, obj)
    return ExceptionValue(type(obj), [], source, obj)
