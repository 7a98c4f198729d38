"""``collections.deque``."""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.sequence import ListValue


class DequeValue(Value):
    """A deque; changes to one that existed before are replayed after the graph ran.

    Attributes:
        content: The items, as a list that only the deque holds.
        maxlen: How many there may be, or None.
        mutations: How often items have come, gone or moved.
    """

    cls = deque
    is_part = True  # its changes are replayed through the methods of ``deque``

    def __init__(self, items: list[Value], maxlen: int | None = None, source=None):
        self.content = ListValue(items)
        self.maxlen = maxlen
        self.source = source
        self.mutations = 0
        self._trim_left()

    @property
    def items(self) -> list[Value]:
        """The items."""
        if self.content.is_unread:
            _ = self.content.items  # what was appended stands there from now on
            self._trim_left()
        return self.content.items

    @property
    def is_unread(self) -> bool:
        """Whether nothing has looked at the items."""
        return self.content.is_unread

    @property
    def added(self) -> list[Value]:
        """What was appended to one that was not read."""
        return self.content.added

    @property
    def original(self) -> list[Value]:
        """The items of one from outside, once they were read."""
        return self.content.original

    def python_type(self) -> type:
        """``deque``."""
        return deque

    def as_python(self) -> Any:
        """The deque, where all items are known; for folding only, it is a copy."""
        return deque((item.as_python() for item in self.items), self.maxlen)

    def truth(self, tracer) -> bool:
        """Whether it has items."""
        return bool(self.items)

    def length(self, tracer) -> int:
        """Number of items."""
        return len(self.items)

    def iterate(self, tracer):
        """The items."""
        return tracer.iterator(self).iterate(tracer)

    def _mutate(self, tracer) -> None:
        """Notes that items are about to come, go or move: iterators will not go on."""
        tracer.effects.change(self)
        self.mutations += 1

    def _index(self, tracer, key: Value) -> int:
        index = tracer.index_of(key)
        if isinstance(index, slice):
            message = "sequence index must be integer, not 'slice'"
            tracer.throw(TypeError, message)
        if not -len(self.items) <= index < len(self.items):
            tracer.throw(IndexError, "deque index out of range")
        return index

    def get_item(self, tracer, key):
        """``self[index]``."""
        return self.items[self._index(tracer, key)]

    def set_item(self, tracer, key, value):
        """``self[index] = value``."""
        index = self._index(tracer, key)
        tracer.effects.change(self)
        self.items[index] = value

    def delete_item(self, tracer, key):
        """``del self[index]``."""
        index = self._index(tracer, key)
        self._mutate(tracer)
        del self.items[index]

    def get_attr(self, tracer, name):
        """``maxlen``; methods."""
        if name == "maxlen":
            return tracer.constant(self.maxlen)
        return super().get_attr(tracer, name)

    def operate(self, tracer, function, other: Value, in_place: bool) -> Value | None:
        """``self + other`` and ``self * count``; None for other operators."""
        if function is operator.mul:
            items = self.content.repeat(tracer, tracer.known(other).as_python()).items
        elif function is operator.add and in_place:
            self.method_extend(tracer, other)
            return self
        elif function is operator.add and isinstance(other, DequeValue):
            items = self.items + other.items
        else:
            return None
        if not in_place:
            return DequeValue(items, self.maxlen)
        self._mutate(tracer)
        self.items[:] = items
        self._trim_left()
        return self

    def _trim_left(self) -> None:
        if self.maxlen is not None:
            del self.items[: max(0, len(self.items) - self.maxlen)]

    def _trim_right(self) -> None:
        if self.maxlen is not None:
            del self.items[self.maxlen :]

    def method_append(self, tracer, item):
        """``self.append(item)``."""
        if self.is_unread and self.maxlen is None:  # no item is given up
            tracer.effects.append(self)
            self.mutations += 1
            self.added.append(item)
            return tracer.constant(None)
        self._mutate(tracer)
        self.items.append(item)
        self._trim_left()
        return tracer.constant(None)

    def method_appendleft(self, tracer, item):
        """``self.appendleft(item)``."""
        self._mutate(tracer)
        self.items.insert(0, item)
        self._trim_right()
        return tracer.constant(None)

    def method_extend(self, tracer, items):
        """``self.extend(items)``; those before an error stay."""
        for item in self._added(tracer, items):
            self.method_append(tracer, item)
        return tracer.constant(None)

    def _added(self, tracer, items: Value):
        """What is added one by one; a deque adds its own items once."""
        return list(self.items) if items is self else tracer.iterate(items)

    def method_extendleft(self, tracer, items):
        """``self.extendleft(items)``: each goes to the left of the one before."""
        for item in self._added(tracer, items):
            self.method_appendleft(tracer, item)
        return tracer.constant(None)

    def _pop(self, tracer, index: int) -> Value:
        if not self.items:
            tracer.throw(IndexError, "pop from an empty deque")
        self._mutate(tracer)
        return self.items.pop(index)

    def method_pop(self, tracer):
        """``self.pop()``."""
        return self._pop(tracer, -1)

    def method_popleft(self, tracer):
        """``self.popleft()``."""
        return self._pop(tracer, 0)

    def method_rotate(self, tracer, count=None):
        """``self.rotate(count)``."""
        steps = 1 if count is None else tracer.integer_of(count)
        if len(self.items) > 1:
            self._mutate(tracer)
            middle = -steps % len(self.items)
            self.items[:] = self.items[middle:] + self.items[:middle]
        return tracer.constant(None)

    def method_clear(self, tracer):
        """``self.clear()``."""
        if self.items:
            self._mutate(tracer)
            self.items.clear()
        return tracer.constant(None)

    def method_reverse(self, tracer):
        """``self.reverse()``; iterators go on, as CPython's do."""
        tracer.effects.change(self)
        self.items.reverse()
        return tracer.constant(None)

    def method_insert(self, tracer, index, item):
        """``self.insert(index, item)``."""
        place = tracer.integer_of(index)
        if self.maxlen is not None and len(self.items) >= self.maxlen:
            tracer.throw(IndexError, "deque already at its maximum size")
        self._mutate(tracer)
        self.items.insert(place, item)
        return tracer.constant(None)

    def method_remove(self, tracer, item):
        """``self.remove(item)``."""
        for index, own in enumerate(self.items):
            if tracer.equal(own, item):
                self._mutate(tracer)
                del self.items[index]
                return tracer.constant(None)
        text = repr(item.as_python())
        tracer.throw(ValueError, f"{text} is not in deque")

    def method_index(self, tracer, item, *bounds):
        """``self.index(item, start, stop)``."""
        start, stop, *_ = *(tracer.index_of(bound) for bound in bounds), None, None
        for index in range(*slice(start, stop).indices(len(self.items))):
            if tracer.equal(self.items[index], item):
                return tracer.constant(index)
        text = repr(item.as_python())
        tracer.throw(ValueError, f"{text} is not in deque")

    def method_count(self, tracer, item):
        """``self.count(item)``."""
        return self.content.method_count(tracer, item)

    def method_copy(self, tracer):
        """``self.copy()``."""
        return DequeValue(list(self.items), self.maxlen)

    def method___len__(self, tracer):
        """``self.__len__()``."""
        return tracer.constant(len(self.items))

    def method___iter__(self, tracer):
        """``self.__iter__()``."""
        return tracer.iterator(self)

    def method___getitem__(self, tracer, key):
        """``self.__getitem__(key)``."""
        return self.get_item(tracer, key)

    def method___setitem__(self, tracer, key, value):
        """``self.__setitem__(key, value)``."""
        self.set_item(tracer, key, value)
        return tracer.constant(None)

    def method___init__(self, tracer, iterable=None, maxlen=None):
        """``deque.__init__(self, iterable, maxlen)``."""
        limit = None if maxlen is None else tracer.known(maxlen).as_python()
        tracer.fold_raw(deque, (), limit)  # a bad limit raises
        self._mutate(tracer)
        self.items.clear()
        self.maxlen = limit
        items = tracer.list_of([]) if iterable is None else iterable
        return self.method_extend(tracer, items)

    def __repr__(self) -> str:
        return "deque(...)" if self.is_unread else f"deque({len(self.items)} items)"
