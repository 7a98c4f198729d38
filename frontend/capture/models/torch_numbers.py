"""Tensors that are made of numbers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from girih.frontend.capture.models.registry import models
from girih.frontend.capture.numpy_numbers import NUMBERS
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.sequence import SequenceValue, TupleValue
from girih.frontend.capture.values.symbol import NumberValue, SymbolValue

# Options that ``torch.full`` has as well, with the same meaning.
_SAME = frozenset(("dtype", "device"))

# Each number is a node.
_MOST_NUMBERS = 64


def _making(function):
    """Has numbers that vary stay such: the function would ask for their values."""

    def model(tracer, data, **options):
        if {*options} <= _SAME:
            if _is_varying(data) and data.python_type() is not bool:
                return tracer.call_operation(
                    torch.full, [TupleValue([]), data], options
                )
            if _is_of_varying_numbers(data):
                has_floats = not all(map(_is_int, _numbers(data)))
                return _stacked(tracer, data, options, has_floats)
        return tracer.call_operation(function, [data], options)

    return model


for _function in (torch.tensor, torch.as_tensor, torch.asarray):
    models(_function)(_making(_function))


def _is_varying(value: Value) -> bool:
    is_symbol = isinstance(value, SymbolValue) and value.real is not None
    return is_symbol and not isinstance(value.real, NUMBERS)


def _is_of_varying_numbers(data: Value) -> bool:
    """Whether numbers in lists make a tensor of floats or of ints, some of which vary.

    A size has to be known in lists, and a bool has a dtype of its own.
    """
    if not _is_list(data) or _shape(data) is None:
        return False
    numbers = list(_numbers(data))
    return (
        len(numbers) <= _MOST_NUMBERS
        and any(map(_is_varying, numbers))
        and (all(map(_is_float_or_known, numbers)) or all(map(_is_int, numbers)))
    )


def _is_list(value: Value) -> bool:
    return isinstance(value, SequenceValue) and value.cls in (list, tuple)


def _is_float_or_known(value: Value) -> bool:
    if _is_varying(value):
        return value.python_type() is float
    return isinstance(value, Constant) and type(value.value) in (int, float)


def _is_int(value: Value) -> bool:
    """Whether a number is an int, and no size that varies."""
    if _is_varying(value):
        return isinstance(value, NumberValue) and value.python_type() is int
    return isinstance(value, Constant) and type(value.value) is int


def _shape(data: Value) -> tuple[int, ...] | None:
    """The sizes of nested lists; None where they differ, or one is empty."""
    if not _is_list(data):
        return ()
    shapes = {_shape(item) for item in data.items}
    if len(shapes) != 1 or None in shapes:
        return None
    return len(data.items), *shapes.pop()


def _numbers(data: Value) -> Iterator[Value]:
    if not _is_list(data):
        yield data
        return
    for item in data.items:
        yield from _numbers(item)


def _stacked(tracer, data: Value, options: dict[str, Value], has_floats: bool) -> Value:
    if _is_list(data):
        rows = [_stacked(tracer, item, options, has_floats) for item in data.items]
        return tracer.call_operation(torch.stack, [TupleValue(rows)], {})
    if isinstance(data, Constant) and "dtype" not in options and has_floats:
        data = Constant(float(data.value))
    return tracer.call_operation(torch.full, [TupleValue([]), data], options)
