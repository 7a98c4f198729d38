"""Iterators of itertools that pass items on one by one."""

from __future__ import annotations

import itertools
import operator

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.iterator.base import IteratorValue
from girih.frontend.capture.values.sequence import TupleValue


class ChainIterator(IteratorValue):
    """``chain.from_iterable(outer)``.

    Attributes:
        outer: The iterator over iterables; None at the end.
        inner: The iterator over the present one, or None.
    """

    cls = itertools.chain

    def __init__(self, outer: Value):
        self.outer: Value | None = outer
        self.inner: Value | None = None

    def next(self, tracer):
        """The next item of the present iterable, or the first of the next one."""
        while self.outer is not None:
            if self.inner is not None:
                item = tracer.next_of(self.inner)
                if item is not None:
                    return item
                self.inner = None
            iterable = tracer.next_of(self.outer)
            if iterable is None:
                self.outer = None
            else:
                self.inner = tracer.iterator(iterable)
        return None


class CountIterator(IteratorValue):
    """``count(value, step)``."""

    cls = itertools.count

    def __init__(self, value: Value, step: Value):
        self.value = value
        self.step = step

    def next(self, tracer):
        """The next number."""
        value = self.value
        self.value = tracer.binary(operator.add, value, self.step)
        return value


class RepeatIterator(IteratorValue):
    """``repeat(item, times)``; ``times`` None is without end."""

    cls = itertools.repeat

    def __init__(self, item: Value, times: int | None):
        self.item = item
        self.times = times if times is None else max(times, 0)

    def next(self, tracer):
        """The item."""
        if self.times is None:
            return self.item
        if self.times == 0:
            return None
        self.times -= 1
        return self.item


class SliceIterator(IteratorValue):
    """``islice(part, start, stop, step)``.

    Attributes:
        part: The iterator; None at the end.
        place: How many of its items were read.
        wanted: Place of the next item that is given.
        stop: Place at which it ends, or None.
        step: Distance between items that are given.
    """

    cls = itertools.islice

    def __init__(self, part: Value, start: int, stop: int | None, step: int):
        self.part: Value | None = part
        self.place = 0
        self.wanted = start
        self.stop = stop
        self.step = step

    def next(self, tracer):
        """The next item, after those that are skipped."""
        if self.part is None:
            return None
        while self.place < self.wanted:
            if self._read(tracer) is None:
                return None
        if self.stop is not None and self.place >= self.stop:
            self.part = None
            return None
        item = self._read(tracer)
        self.wanted += self.step
        if self.stop is not None:
            self.wanted = min(self.wanted, self.stop)
        return item

    def _read(self, tracer) -> Value | None:
        item = tracer.next_of(self.part)
        if item is None:
            self.part = None
        self.place += 1
        return item


class TakeWhileIterator(IteratorValue):
    """``takewhile(function, part)``; ``part`` is None at the end."""

    cls = itertools.takewhile

    def __init__(self, function: Value, part: Value):
        self.function = function
        self.part: Value | None = part

    def next(self, tracer):
        """The next item, as long as the function says so."""
        item = None if self.part is None else tracer.next_of(self.part)
        if item is None:
            return None
        if tracer.call(self.function, [item], {}).truth(tracer):
            return item
        self.part = None
        return None


class DropWhileIterator(IteratorValue):
    """``dropwhile(function, part)``; ``function`` is None once items are given."""

    cls = itertools.dropwhile

    def __init__(self, function: Value, part: Value):
        self.function: Value | None = function
        self.part = part

    def next(self, tracer):
        """The next item, after those for which the function holds."""
        while (item := tracer.next_of(self.part)) is not None:
            if self.function is None:
                return item
            if not tracer.call(self.function, [item], {}).truth(tracer):
                self.function = None
                return item
        return None


class StarMapIterator(IteratorValue):
    """``starmap(function, part)``."""

    cls = itertools.starmap

    def __init__(self, function: Value, part: Value):
        self.function = function
        self.part = part

    def next(self, tracer):
        """The result for the next tuple of arguments."""
        args = tracer.next_of(self.part)
        if args is None:
            return None
        return tracer.call(self.function, tracer.listed(args), {})


class CompressIterator(IteratorValue):
    """``compress(part, selectors)``."""

    cls = itertools.compress

    def __init__(self, part: Value, selectors: Value):
        self.part = part
        self.selectors = selectors

    def next(self, tracer):
        """The next item whose selector is true."""
        while (item := tracer.next_of(self.part)) is not None:
            selector = tracer.next_of(self.selectors)
            if selector is None:
                return None
            if selector.truth(tracer):
                return item
        return None


class LongestIterator(IteratorValue):
    """``zip_longest(*parts, fillvalue=fill)``; parts that ended are None."""

    cls = itertools.zip_longest

    def __init__(self, parts: list[Value], fill: Value):
        self.parts: list[Value | None] = list(parts)
        self.fill = fill

    def next(self, tracer):
        """The next row."""
        row = []
        for index, part in enumerate(self.parts):
            item = None if part is None else tracer.next_of(part)
            if item is None:
                self.parts[index] = None
                item = self.fill
            row.append(item)
            if not any(p is not None for p in self.parts):
                return None
        return TupleValue(row) if row else None
