"""The builtin ``sum``, which does not just add floats from CPython 3.12 on."""

from __future__ import annotations

import operator
import sys

from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant


@models(sum)
def _sum(tracer, items, start=None):
    total = tracer.constant(0) if start is None else start
    _refuse_texts(tracer, total)
    total = _summand(tracer, total)
    numbers = [] if _is_number(total) else None
    for given in tracer.iterate(items):
        item = _summand(tracer, given)
        if numbers is not None and _is_number(item):
            numbers.append(item.value)
            continue
        if numbers is not None:
            total, numbers = _of_numbers(tracer, numbers, total), None
        total = tracer.binary(operator.add, total, item)
    return total if numbers is None else _of_numbers(tracer, numbers, total)


def _refuse_texts(tracer, start: Value) -> None:
    for cls in (str, bytes, bytearray):
        if issubclass(start.python_type(), cls):
            tracer.fold_raw(sum, (), cls())  # raises


def _summand(tracer, item: Value) -> Value:
    """An item; of floats Python has to know the value, where it keeps what is lost."""
    is_float = sys.version_info >= (3, 12) and item.python_type() is float
    return tracer.known(item) if is_float else item


def _is_number(item: Value) -> bool:
    return isinstance(item, Constant) and type(item.value) in (int, float, bool)


def _of_numbers(tracer, numbers: list, start: Value) -> Value:
    """The sum of the items before the first of another kind, rounded as Python does."""
    return tracer.fold(sum, numbers, start.value)
