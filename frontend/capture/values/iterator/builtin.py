"""enumerate, zip, map, filter, ``iter(callable, sentinel)``.

They hold the iterators that they read from, as traced values, and read them when asked.
"""

from __future__ import annotations

import operator

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.iterator.base import IteratorValue
from girih.frontend.capture.values.sequence import TupleValue


class EnumerateIterator(IteratorValue):
    """``enumerate(part, count)``."""

    cls = enumerate

    def __init__(self, part: Value, count: Value):
        self.part = part
        self.count = count

    def next(self, tracer):
        """The next pair."""
        item = tracer.next_of(self.part)
        if item is None:
            return None
        count = self.count
        self.count = tracer.binary(operator.add, count, tracer.constant(1))
        return TupleValue([count, item])


class ZipIterator(IteratorValue):
    """``zip(*parts, strict=is_strict)``."""

    cls = zip

    def __init__(self, parts: list[Value], is_strict: bool):
        self.parts = parts
        self.is_strict = is_strict

    def next(self, tracer):
        """The next row; stops at the first part that ends."""
        row = []
        for index, part in enumerate(self.parts):
            item = tracer.next_of(part)
            if item is None:
                if self.is_strict:
                    self._check_lengths(tracer, index)
                return None
            row.append(item)
        return TupleValue(row) if row else None

    def _check_lengths(self, tracer, ended: int) -> None:
        if ended:
            self._unequal(tracer, ended, "shorter")
        for index, part in enumerate(self.parts[1:], 1):
            if tracer.next_of(part) is not None:
                self._unequal(tracer, index, "longer")

    def _unequal(self, tracer, index: int, how: str) -> None:
        others = " 1" if index == 1 else f"s 1-{index}"
        message = f"zip() argument {index + 1} is {how} than argument{others}"
        tracer.throw(ValueError, message)


class MapIterator(IteratorValue):
    """``map(function, *parts)``."""

    cls = map

    def __init__(self, function: Value, parts: list[Value]):
        self.function = function
        self.parts = parts

    def next(self, tracer):
        """The next result."""
        args = []
        for part in self.parts:
            item = tracer.next_of(part)
            if item is None:
                return None
            args.append(item)
        return tracer.call(self.function, args, {})


class FilterIterator(IteratorValue):
    """``filter(function, part)``; with ``is_negated`` it is ``filterfalse``."""

    def __init__(self, function: Value, part: Value, cls: type, is_negated=False):
        self.function = function
        self.part = part
        self.cls = cls
        self.is_negated = is_negated

    def next(self, tracer):
        """The next item that passes."""
        while (item := tracer.next_of(self.part)) is not None:
            if self._passes(tracer, item) is not self.is_negated:
                return item
        return None

    def _passes(self, tracer, item: Value) -> bool:
        if tracer.is_none(self.function):
            return item.truth(tracer)
        return tracer.call(self.function, [item], {}).truth(tracer)


class CallableIterator(IteratorValue):
    """``iter(function, sentinel)``.

    Attributes:
        function: What is called; None at the end.
        sentinel: The result that ends it.
    """

    cls = type(iter(int, 1))

    def __init__(self, function: Value, sentinel: Value):
        self.function: Value | None = function
        self.sentinel = sentinel

    def next(self, tracer):
        """The next result."""
        if self.function is None:
            return None
        found = tracer.call(self.function, [], {})
        if self.function is None:  # the call itself has used it up
            return None
        if tracer.equal(self.sentinel, found):
            self.function = None
            return None
        return found
