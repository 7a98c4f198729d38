"""Models of functions written in C that read all items of an iterable.

They take generators, iterators and views as they take lists: the items come from the
traced program, one by one, in the order in which C asks for them.
"""

from __future__ import annotations

import collections
import math
import operator
from collections.abc import Iterator
from typing import Any

from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.iterator import IteratorValue
from girih.frontend.capture.values.mapping import DictValue, ViewValue
from girih.frontend.capture.values.set import SetValue

# What Python has to know one by one: `as_python` of these has no order, or no items.
_READ_BY_ITEMS = (IteratorValue, ViewValue, DictValue, SetValue, DequeValue)


class _Known:
    """An iterator over known items for C code, which keeps what stopped it."""

    def __init__(self, tracer, items: Iterator[Value]):
        self.tracer = tracer
        self.items = items
        self.stopped: Exception | None = None

    def __iter__(self):
        return self

    def __next__(self) -> Any:
        try:
            return self.tracer.known(next(self.items)).as_python()
        except StopIteration:
            raise
        except Exception as error:
            self.stopped = error
            raise


def _fold_items(tracer, function, iterables: list[Iterator[Value]], *rest: Any):
    """``function(*iterables, *rest)``, where all items are known."""
    given = [_Known(tracer, items) for items in iterables]

    def call():
        try:
            return function(*given, *rest), None
        except Exception as error:
            # What the program or the tracer raised is no error of the C function.
            stopped = next((part.stopped for part in given if part.stopped), None)
            if stopped is None:
                raise
            return error, stopped

    result, stopped = tracer.fold_raw(call)
    if stopped is not None:
        raise stopped
    return tracer.folded(result)


@models(math.prod)
def _prod(tracer, iterable, start=None):
    """The product; of numbers that vary and of tensors it is part of the graph."""
    total = tracer.constant(1) if start is None else start
    for item in tracer.iterate(iterable):
        total = tracer.binary(operator.mul, total, item)
    return total


@models(math.fsum)
def _fsum(tracer, seq):
    return _fold_items(tracer, math.fsum, [tracer.iterate(seq)])


@models(math.dist)
def _dist(tracer, p, q):
    points = []
    for point in (p, q):
        is_known = not isinstance(point, _READ_BY_ITEMS)
        point = point.as_python() if is_known else tuple(_known_items(tracer, point))
        points.append(point)
    return tracer.fold(math.dist, *points)


def _known_items(tracer, iterable: Value) -> list[Any]:
    return [tracer.known(item).as_python() for item in tracer.listed(iterable)]


@models(bytes)
def _bytes(tracer, /, *args, **kwargs):
    if len(args) == 1 and not kwargs and isinstance(args[0], _READ_BY_ITEMS):
        return _fold_items(tracer, bytes, [tracer.counted_items(args[0])])
    return tracer.fold_call(bytes, args, kwargs)


@models(int.from_bytes)
def _from_bytes(tracer, /, bytes, *args, **kwargs):  # noqa: A002  the keyword's name
    if isinstance(bytes, _READ_BY_ITEMS):
        bytes = _bytes(tracer, bytes)  # noqa: A001
    return tracer.fold_call(int.from_bytes, [bytes, *args], kwargs)


def _from_keys(cls: type):
    def model(tracer, iterable, value=None):
        filler = tracer.constant(None) if value is None else value
        made = DictValue(cls=cls)
        if cls is collections.defaultdict:
            made.factory = tracer.constant(None)
        for key in tracer.iterate(iterable):
            made.set_item(tracer, key, filler)
        return made

    return model


for _cls in (collections.OrderedDict, collections.defaultdict):
    models(_cls.fromkeys)(_from_keys(_cls))
