"""NumPy: its numbers are constants, functions of known numbers are folded.

Arrays are objects from outside, and functions that make some are graph breaks: an array
shares its memory with whoever has it, so it can't be made while tracing.
"""

from __future__ import annotations

from typing import Any

import numpy

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import NotConstant
from girih.frontend.capture.values.constant import Constant

FUNCTION_TYPES = (numpy.ufunc, type(numpy.prod))
"""Types of NumPy's functions, which are no functions of Python."""

NUMBERS = (numpy.number, numpy.bool_)
"""Immutable numbers."""

# Functions that only look at their arguments; ufuncs are all like that.
_PURE = (
    "all amax amin any around argmax argmin clip count_nonzero cumsum diff dot fix "
    "isclose max mean median min ndim prod ptp round shape size std sum trace var"
).split()


def python_number(value: Any) -> Any:
    """What torch takes a number of NumPy for."""
    return value.item() if isinstance(value, NUMBERS) else value


def _folding(function):
    name = f"numpy.{function.__name__}"

    def model(tracer, /, *args, **kwargs):
        try:
            items = [tracer.known(arg).as_python() for arg in args]
            named = {key: tracer.known(v).as_python() for key, v in kwargs.items()}
        except NotConstant:
            _unsupported(name)
        result = tracer.fold_raw(function, *items, **named)
        if isinstance(result, numpy.ndarray):
            _unsupported(name)
        return Constant(result) if isinstance(result, NUMBERS) else tracer.held(result)

    return model


def _unsupported(name: str) -> None:
    unsupported(
        kind="function of NumPy",
        context=name,
        explanation="Arrays are not in the graph; Python calls the function.",
        hints=("Use the torch function of the same name, on tensors.",),
    )


def _register() -> None:
    ufuncs = (f for f in vars(numpy).values() if isinstance(f, numpy.ufunc))
    named = (getattr(numpy, name, None) for name in _PURE)
    functions = [f for f in named if isinstance(f, FUNCTION_TYPES)]
    for function in dict.fromkeys([*ufuncs, *functions]):
        models(function)(_folding(function))


_register()


def _construct(cls: type):
    def model(tracer, *args):
        items = [tracer.known(arg).as_python() for arg in args]
        return Constant(tracer.fold_raw(cls, *items))

    return model


_NAMES = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128"
).split()
for _name in _NAMES:
    models(getattr(numpy, _name))(_construct(getattr(numpy, _name)))
