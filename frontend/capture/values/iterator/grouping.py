"""Iterators of itertools that keep items, or combine several of them."""

from __future__ import annotations

import itertools
import operator

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.iterator.base import IteratorValue
from girih.frontend.capture.values.sequence import TupleValue


class CycleIterator(IteratorValue):
    """``cycle(part)``.

    Attributes:
        part: The iterator; None once it ended.
        saved: Its items so far.
        index: Of the next saved item, once it ended.
    """

    cls = itertools.cycle

    def __init__(self, part: Value):
        self.part: Value | None = part
        self.saved: list[Value] = []
        self.index = 0

    def next(self, tracer):
        """The next item; from the start again after the last."""
        if self.part is not None:
            item = tracer.next_of(self.part)
            if item is not None:
                self.saved.append(item)
                return item
            self.part = None
        if not self.saved:
            return None
        item = self.saved[self.index]
        self.index = (self.index + 1) % len(self.saved)
        return item


class AccumulateIterator(IteratorValue):
    """``accumulate(part, function, initial=initial)``.

    Attributes:
        part: The iterator.
        function: What combines two items.
        initial: Given first; None if there is none, or it was given.
        total: The last result, or None.
    """

    cls = itertools.accumulate

    def __init__(self, part: Value, function: Value, initial: Value | None):
        self.part = part
        self.function = function
        self.initial = initial
        self.total: Value | None = None

    def next(self, tracer):
        """The next result."""
        if self.initial is not None:
            self.total, self.initial = self.initial, None
            return self.total
        item = tracer.next_of(self.part)
        if item is None:
            return None
        if self.total is not None:
            item = self._combine(tracer, item)
        self.total = item
        return item

    def _combine(self, tracer, item: Value) -> Value:
        if tracer.is_none(self.function):
            return tracer.binary(operator.add, self.total, item)
        return tracer.call(self.function, [self.total, item], {})


class PairIterator(IteratorValue):
    """``pairwise(part)``.

    Attributes:
        part: The iterator; None at the end.
        previous: The item before, or None at the start.
    """

    cls = itertools.pairwise

    def __init__(self, part: Value):
        self.part: Value | None = part
        self.previous: Value | None = None

    def next(self, tracer):
        """The next pair."""
        if self.part is not None and self.previous is None:
            self.previous = tracer.next_of(self.part)
        item = None if self.previous is None else tracer.next_of(self.part)
        if item is None:
            self.part = self.previous = None
            return None
        pair = TupleValue([self.previous, item])
        self.previous = item
        return pair


class BatchIterator(IteratorValue):
    """``batched(part, size)``; ``part`` is None at the end."""

    def __init__(self, part: Value, size: int, is_strict: bool, cls: type):
        self.part: Value | None = part
        self.size = size
        self.is_strict = is_strict
        self.cls = cls

    def next(self, tracer):
        """The next tuple; the last one may be shorter."""
        batch = []
        while self.part is not None and len(batch) < self.size:
            item = tracer.next_of(self.part)
            if item is None:
                self.part = None
            else:
                batch.append(item)
        if self.is_strict and batch and len(batch) < self.size:
            tracer.throw(ValueError, "batched(): incomplete batch")
        return TupleValue(batch) if batch else None


class RowsIterator(IteratorValue):
    """product, permutations and combinations: tuples of items that were read at once.

    Attributes:
        pools: The items of each iterable.
        arguments: What follows them.
        keywords: ``repeat`` of product.
        count: How many tuples were given.
    """

    def __init__(self, cls: type, pools: list[list[Value]], arguments, keywords):
        self.cls = cls
        self.pools = pools
        self.arguments: list[int] = arguments
        self.keywords: dict[str, int] = keywords
        self.count = 0
        self._rows = cls(*pools, *arguments, **keywords)

    def next(self, tracer):
        """The next tuple."""
        row = next(self._rows, None)
        if row is None:
            return None
        self.count += 1
        return TupleValue(list(row))


class SharedItems(Value):
    """What the iterators of one ``tee`` share.

    Attributes:
        part: The iterator that is read.
        items: Its items so far.
        tees: The iterators.
    """

    def __init__(self, part: Value, count: int):
        self.part = part
        self.items: list[Value] = []
        self.tees = [TeeIterator(self) for _ in range(count)]

    def python_type(self) -> type:
        """The iterators come as a tuple."""
        return tuple

    def item(self, tracer, index: int) -> Value | None:
        """The item at an index, read where that was not done before."""
        if index == len(self.items):
            found = tracer.next_of(self.part)
            if found is None:
                return None
            self.items.append(found)
        return self.items[index]


class TeeIterator(IteratorValue):
    """One of the iterators that ``tee`` gives."""

    cls = type(itertools.tee(())[0])

    def __init__(self, shared: SharedItems, index: int = 0):
        self.shared = shared
        self.index = index

    def next(self, tracer):
        """The next item."""
        item = self.shared.item(tracer, self.index)
        if item is not None:
            self.index += 1
        return item

    def split(self, count: int) -> list[TeeIterator]:
        """``tee(self, count)``: this one and copies, which share the items."""
        copies = [TeeIterator(self.shared, self.index) for _ in range(count - 1)]
        self.shared.tees.extend(copies)
        return [self, *copies]

    def method___copy__(self, tracer):
        """``copy.copy(self)``."""
        return self.split(2)[1]


class GroupByIterator(IteratorValue):
    """``groupby(part, function)``.

    Attributes:
        part: The iterator.
        function: Gives the key of an item.
        key: The key of the item that was read last, or None at the start.
        item: That item; None where it was given.
        wanted: The key of the present group, or None.
        group: The iterator over the present group.
    """

    cls = itertools.groupby

    def __init__(self, part: Value, function: Value):
        self.part = part
        self.function = function
        self.key: Value | None = None
        self.item: Value | None = None
        self.wanted: Value | None = None
        self.group: GroupIterator | None = None

    def next(self, tracer):
        """The next key and the iterator over its items."""
        self.group = None
        while self.key is None or self._is_wanted(tracer):
            if not self.read(tracer):
                return None
        self.wanted = self.key
        self.group = GroupIterator(self, self.wanted)
        return TupleValue([self.key, self.group])

    def _is_wanted(self, tracer) -> bool:
        return self.wanted is not None and tracer.equal(self.wanted, self.key)

    def read(self, tracer) -> bool:
        """Reads an item and its key; False at the end."""
        item = tracer.next_of(self.part)
        if item is None:
            return False
        is_plain = tracer.is_none(self.function)
        self.key = item if is_plain else tracer.call(self.function, [item], {})
        self.item = item
        return True


class GroupIterator(IteratorValue):
    """The items of one group of ``groupby``, while it is the present one."""

    cls = type(next(itertools.groupby([1]))[1])

    def __init__(self, parent: GroupByIterator, key: Value):
        self.parent = parent
        self.key = key

    def next(self, tracer):
        """The next item of the group."""
        parent = self.parent
        if parent.group is not self:
            return None
        if parent.item is None and not parent.read(tracer):
            return None
        if not tracer.equal(self.key, parent.key):
            return None
        item, parent.item, parent.key = parent.item, None, None
        return item
