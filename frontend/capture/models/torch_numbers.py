"""Tensors that are made of numbers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from girih.frontend.capture.models.registry import models
from girih.frontend.capture.numpy_numbers import NUMBERS
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.sequence import SequenceValue, TupleValue
from girih.frontend.capture.values.symbol import SymbolValue

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
            if _is_of_varying_floats(data):
                return _stacked(tracer, data, options)
        return tracer.call_operation(function, [data], options)

    return model


for _function in (torch.tensor, torch.as_tensor, torch.asarray):
    models(_function)(_making(_function))


def _is_varying(value: Value) -> bool:
    is_symbol = isinstance(value, SymbolValue) and value.real is not None
    return is_symbol and not isinstance(value.real, NUMBERS)


def _is_of_varying_floats(data: Value) -> bool:
    """Whether numbers in lists make a tensor of floats, some of which vary.

    An int that varies may be a size, and a bool has a dtype of its own.
    """
    if not _is_list(data) or _shape(data) is None:
        return False
    numbers = list(_numbers(data))
    return (
        len(numbers) <= _MOST_NUMBERS
        and all(map(_is_float_or_known, numbers))
        and any(map(_is_varying, numbers))
    )


def _is_list(value: Value) -> bool:
    return isinstance(value, SequenceValue) and value.cls in (list, tuple)


def _is_float_or_known(value: Value) -> bool:
    if _is_varying(value):
        return value.python_type() is float
    return isinstance(value, Constant) and type(value.value) in (int, float)


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


def _stacked(tracer, data: Value, options: dict[str, Value]) -> Value:
    if _is_list(data):
        rows = [_stacked(tracer, item, options) for item in data.items]
        return tracer.call_operation(torch.stack, [TupleValue(rows)], {})
    if isinstance(data, Constant) and "dtype" not in options:
        data = Constant(float(data.value))  # beside a float
    return tracer.call_operation(torch.full, [TupleValue([]), data], options)
