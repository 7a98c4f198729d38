"""Operations on numbers that may be others at the next call.

Where all operands are ints and one of them is a size, ``ShapeEnv`` does the arithmetic:
it knows what follows for the sizes of tensors. All other arithmetic is Python's own: it
runs now on the numbers of this call, and in the surrounding code on those of the next.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy
import torch

from girih.errors import UnsupportedError
from girih.frontend.capture.numpy_numbers import (
    NUMBERS,
    is_of_numpy,
    is_quiet,
    refused_warnings,
)
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.sequence import SequenceValue
from girih.frontend.capture.values.symbol import NumberValue, SymbolValue

# The types of numbers that may be others at the next call.
_VARYING = (int, float, numpy.float64)

# Beyond these a number is no input, and no size.
LARGEST = 2**31
LARGEST_SIZE = 2**62

# On ints: exact in ShapeEnv.
_ON_SIZES = frozenset(
    (
        operator.add,
        operator.sub,
        operator.mul,
        operator.floordiv,
        operator.mod,
        operator.neg,
        torch.sym_min,
        torch.sym_max,
    )
)
_DIVISIONS = (operator.floordiv, operator.mod)
_COMPARISONS = (
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
)
# These raise for no numbers, and the type of the result follows from the operands'.
_TOTAL = frozenset(
    (
        operator.add,
        operator.sub,
        operator.mul,
        operator.neg,
        operator.pos,
        operator.abs,
        float,
    )
)
# Python's own, for what stands in graphs.
_IN_PYTHON = {torch.sym_float: float, torch.sym_max: max, torch.sym_min: min}
_IN_GRAPH = {max: torch.sym_max, min: torch.sym_min}


def number_operation(tracer, function: Callable, args: list[Value]) -> Value:
    """``function(*args)`` where an argument is a number that may vary.

    What is no arithmetic fixes the numbers for this entry.
    """
    args = [_unless_fixed(arg) for arg in args]
    symbols = [arg for arg in args if isinstance(arg, SymbolValue)]
    if not symbols or not all(_is_number(arg) for arg in args):
        return _fold(tracer, function, args)
    if any(symbol.real is None for symbol in symbols):
        return tracer.graph.call_function(function, args, {})
    has_size = any(type(symbol) is SymbolValue for symbol in symbols)
    if has_size and is_on_sizes(function, args):
        return on_sizes(tracer, function, args)
    return _in_python(tracer, _IN_PYTHON.get(function, function), args)


def _unless_fixed(value: Value) -> Value:
    is_fixed = isinstance(value, NumberValue) and value.is_fixed
    return Constant(value.real) if is_fixed else value


def _is_number(value: Value) -> bool:
    if isinstance(value, SymbolValue):
        return True
    return isinstance(value, Constant) and type(value.value) in (*_VARYING, bool)


def _fold(tracer, function, args: list[Value]) -> Value:
    known = [tracer.known(arg).as_python() for arg in args]
    result = tracer.fold_raw(function, *known)
    return Constant(result) if isinstance(result, NUMBERS) else tracer.folded(result)


def is_on_sizes(function: Callable, args: list[Value] | tuple[Value, ...]) -> bool:
    """Whether ``ShapeEnv`` knows an operation exactly."""
    if function not in _ON_SIZES and function not in _COMPARISONS:
        return False
    return all(arg.python_type() is int for arg in args)


def is_exact(value: NumberValue) -> bool:
    """Whether ``ShapeEnv`` can do the arithmetic that gives a number."""
    if value.function is None or abs(value.real) >= LARGEST_SIZE:
        return False
    return is_on_sizes(function_of_sizes(value), value.args)


def function_of_sizes(value: NumberValue) -> Callable | None:
    """What computes a number, as graphs and ``ShapeEnv`` have it."""
    return _IN_GRAPH.get(value.function, value.function)


def on_sizes(tracer, function: Callable, args: list[Value]) -> Value:
    """An operation of ``ShapeEnv``; a comparison is decided, and guarded."""
    if function in _COMPARISONS:
        first, second = (_fake_of(arg) for arg in args)
        return tracer.constant(bool(function(first, second)))  # a guard on sizes
    if function in _DIVISIONS and not _is_nonzero(args[1]):
        return _fold(tracer, function, args)
    return tracer.graph.call_function(function, args, {})


def _fake_of(value: Value) -> Any:
    if isinstance(value, NumberValue):
        value = value.placed
    return value.fake if isinstance(value, SymbolValue) else value.value


def _is_nonzero(value: Value) -> bool:
    return bool(_fake_of(value) != 0)  # a guard on sizes


def _in_python(tracer, function, args: list[Value]) -> Value:
    for arg in args:
        arg.python_type()
    reals = [_real_of(arg) for arg in args]
    is_numpy = is_of_numpy(function, reals)
    try:
        with refused_warnings(function) if is_numpy else nullcontext():
            real = function(*reals)
    except UnsupportedError:
        raise
    except Exception:  # the traced program has to raise it
        return _fold(tracer, function, args)
    if function not in _COMPARISONS and type(real) not in _VARYING:
        return _fold(tracer, function, args)
    if is_numpy:
        tracer.graph.decide(is_quiet, (function, *args), True)
    if function in _COMPARISONS:
        tracer.graph.decide(function, tuple(args), bool(real))
        return Constant(real)
    value = NumberValue(tracer, real, None, function, tuple(args))
    if function not in _TOTAL:
        tracer.graph.decide(is_of_type, (value, type(real)), True)
    return value


def _real_of(value: Value) -> Any:
    return value.real if isinstance(value, SymbolValue) else value.value


def is_of_type(value: Any, cls: type) -> bool:
    """Whether the type of a number is ``cls``."""
    return type(value) is cls


def is_input(value: Any) -> bool:
    """Whether a number can be an input of a graph.

    As under TorchDynamo, 0 and 1 are none: too much depends on them. ``Sizes`` says
    where they may be nevertheless. Others have to fit where torch and kernels compute
    with them. Of -0.0, sympy would lose the sign where an operation needs the number.
    """
    if type(value) is float:
        return value - value == 0 and str(value) != "-0.0"  # finite
    return type(value) is int and not is_small(value) and abs(value) < LARGEST


def is_small(value: Any) -> bool:
    """Whether a number is the int 0 or 1, of which sizes say more than of others."""
    return type(value) is int and value in (0, 1)


def takes_int_for_float(
    target: Any, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> bool:
    """Whether an operator would round a float that may vary.

    Operators take a symbolic float for an int; a float itself is an error.
    """
    if isinstance(target, torch._ops.OpOverload):
        schemas = [target._schema]
    elif isinstance(target, torch._ops.OpOverloadPacket):
        schemas = [getattr(target, name)._schema for name in target.overloads()]
    else:
        return False
    places = [n for n, value in enumerate(args) if _holds_float(value)]
    names = {name for name, value in kwargs.items() if _holds_float(value)}
    return any(
        str(argument.type) in _INTS and (n in places or argument.name in names)
        for schema in schemas
        for n, argument in enumerate(schema.arguments)
    )


_INTS = ("int", "List[int]", "Optional[int]", "Optional[List[int]]")


def _holds_float(value: Value) -> bool:
    if isinstance(value, SequenceValue):
        return any(map(_holds_float, value.items))
    return isinstance(value, SymbolValue) and issubclass(value.python_type(), float)
