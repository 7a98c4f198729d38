"""NumPy: its numbers are constants, functions of known numbers are folded.

Arrays are objects from outside, and functions that make some are graph breaks: an array
shares its memory with whoever has it, so it can't be made while tracing.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy
import torch

from girih.errors import unsupported
from girih.frontend.capture.evaluate import name_of
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.numpy_numbers import FUNCTION_TYPES, NUMBERS
from girih.frontend.capture.values.base import NotConstant, Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.symbol import SymbolValue

# Functions that only look at their arguments; ufuncs are all like that.
_PURE = (
    "all amax amin any around argmax argmin clip count_nonzero cumsum diff dot fix "
    "isclose max mean median min ndim prod ptp round shape size std sum trace var"
).split()


# Those that torch takes for the Python number of the same value. A NumPy bool and a
# complex number of single precision are floats to it, but not wherever it takes floats.
_LIKE_PYTHON = (numpy.integer, numpy.float16, numpy.float32, float, complex)

# Calls that look at the type of a number itself; others take its value.
_TAKE_TYPES = (
    *(torch.tensor, torch.as_tensor, torch.asarray, operator.setitem),
    *("new_tensor", "new", "__setitem__"),
)


_ABOUT_ITEMS = (operator.getitem, operator.setitem, operator.delitem)


def python_number(number: Any, target: Any) -> Any:
    """The number of Python that torch takes one of NumPy for.

    Args:
        number: The number, an argument.
        target: What is called: a function or the name of a method.

    Raises:
        UnsupportedError: The result depends on the number's own type.
    """
    if isinstance(number, _LIKE_PYTHON) and target not in _TAKE_TYPES:
        return number.item()
    is_operator = getattr(target, "__module__", None) == "_operator"
    if isinstance(number, numpy.bool_) and is_operator and target not in _ABOUT_ITEMS:
        return float(number)
    unsupported(
        kind="NumPy number whose type decides about the result",
        context=f"{type(number).__name__}, an argument of {name_of(target)}",
        explanation="PyTorch treats this NumPy number differently from a Python number "
        "of the same value.",
        hints=(
            "Pass a Python number (number.item()), and give dtype= if the call makes a "
            "tensor.",
        ),
    )


def _folding(function):
    name = f"numpy.{function.__name__}"
    is_elementwise = isinstance(function, numpy.ufunc) and function.nout == 1

    def model(tracer, /, *args, **kwargs):
        if is_elementwise and not kwargs and _is_of_varying(args):
            return tracer.symbolic(function, list(args))
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


def _is_of_varying(args: Sequence[Value]) -> bool:
    """Whether all of some values are numbers, one of which may vary."""
    return any(isinstance(arg, SymbolValue) for arg in args) and all(
        isinstance(arg, SymbolValue) or isinstance(arg, Constant) for arg in args
    )


def _construct(cls: type):
    def model(tracer, *args):
        if cls is numpy.float64 and len(args) == 1 and _is_of_varying(args):
            return tracer.symbolic(cls, list(args))
        items = [tracer.known(arg).as_python() for arg in args]
        return Constant(tracer.fold_raw(cls, *items))

    return model


_NAMES = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128"
).split()
for _name in _NAMES:
    models(getattr(numpy, _name))(_construct(getattr(numpy, _name)))
