"""The protocol of iterators."""

from __future__ import annotations

from collections.abc import Iterator

from girih.frontend.capture.values.base import Value


class IteratorValue(Value):
    """An iterator whose state is explicit.

    Attributes:
        cls: Its Python type.
    """

    cls: type

    def python_type(self) -> type:
        """The type of the iterator."""
        return self.cls

    def next(self, tracer) -> Value | None:
        """The next value; None at the end. May raise ``StopIteration`` as well."""
        raise NotImplementedError(type(self).__name__)

    def iterate(self, tracer) -> Iterator[Value]:
        """The values to come."""
        while (item := tracer.next_of(self)) is not None:
            yield item

    def contains(self, tracer, item) -> bool:
        """Consumes the iterator up to the item."""
        return any(tracer.equal(own, item) for own in self.iterate(tracer))

    def method___next__(self, tracer):
        """``self.__next__()``."""
        found = self.next(tracer)
        if found is None:
            tracer.throw(StopIteration)
        return found

    def method___iter__(self, tracer):
        """An iterator is its own iterator."""
        return self


class ItemsIterator(IteratorValue):
    """An iterator over items that are known beforehand.

    Attributes:
        items: All of them.
        index: Of the next one.
    """

    def __init__(self, items: list[Value], cls: type):
        self.items = items
        self.index = 0
        self.cls = cls

    def next(self, tracer):
        """The next item."""
        if self.index >= len(self.items):
            return None
        self.index += 1
        return self.items[self.index - 1]

    def remaining(self) -> list[Value]:
        """The items to come."""
        return self.items[self.index :]
