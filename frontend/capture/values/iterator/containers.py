"""Iterators over containers, constants and objects."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from girih.errors import UnsupportedError
from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.iterator.base import ItemsIterator, IteratorValue
from girih.frontend.capture.values.lookup import length_of


class SequenceIterator(IteratorValue):
    """An iterator over a list or tuple; it sees changes of the list, as Python's do.

    Attributes:
        owner: What is iterated: the sequence, or the object that it is the base of.
        sequence: The list or tuple; None at the end.
        index: Of the next item.
        step: 1, or -1 for ``reversed``.
    """

    def __init__(self, owner: Value, sequence: Value, cls: type, step: int = 1):
        self.owner = owner
        self.sequence: Value | None = sequence
        self.index = 0 if step > 0 else len(sequence.items) - 1
        self.step = step
        self.cls = cls

    def next(self, tracer):
        """The next item; past the end the iterator lets go of the sequence."""
        if self.sequence is None:
            return None
        if not 0 <= self.index < len(self.sequence.items):
            self.sequence = None
            return None
        self.index += self.step
        return self.sequence.items[self.index - self.step]


class ConstantIterator(IteratorValue):
    """An iterator over a string, bytes or range.

    Attributes:
        value: The Python object.
        index: Of the next item.
    """

    def __init__(self, value: Any):
        self.value = value
        self.index = 0
        self.cls = type(iter(value))

    def next(self, tracer):
        """The next item."""
        try:
            item = self.value[self.index]
        except IndexError:
            return None
        self.index += 1
        return tracer.from_python(item)


def _depends_on_storage(kind: str):
    """Leaves the whole function to Python: what is made anew is stored otherwise."""
    explanation = "What Python does then depends on how it stores the container."
    error = UnsupportedError(kind, "", explanation)
    error.break_points = ()
    raise error


class DictIterator(IteratorValue):
    """An iterator over keys, values or items of a dict.

    Attributes:
        owner: What is iterated: the dict, or the object that it is the base of.
        mapping: The dict.
        kind: ``"keys"``, ``"values"`` or ``"items"``.
        keys: The keys when it was made, in the order in which it goes.
        removals: How often the dict had lost keys by then.
        index: Of the next one.
        is_reversed: Whether ``reversed`` made it.
    """

    def __init__(self, owner, mapping, kind: str, keys: list, cls, is_reversed=False):
        self.owner = owner
        self.mapping = mapping
        self.kind = kind
        self.keys = keys
        self.removals = mapping.removals
        self.index = 0
        self.cls = cls
        self.is_reversed = is_reversed

    def next(self, tracer):
        """The next key, value or pair."""
        if self.index < 0:
            return None
        items = self.mapping.items
        is_past = self.index >= len(self.keys)
        is_end = is_past and issubclass(self.mapping.cls, OrderedDict)
        if len(items) != len(self.keys) and not is_end:
            self.index = -1
            tracer.throw(RuntimeError, f"{self._kind_of_dict()} during iteration")
        if self.mapping.removals != self.removals and not is_end:
            _depends_on_storage("dict that gets other keys while it is iterated")
        if is_past:
            self.index = -1
            return None
        key = self.keys[self.index]
        self.index += 1
        return self._item(key.value, items[key])

    @property
    def is_unchanged(self) -> bool:
        """Whether the dict has had the same keys since the iterator was made."""
        same_size = len(self.mapping.items) == len(self.keys)
        return same_size and self.mapping.removals == self.removals

    def _kind_of_dict(self) -> str:
        is_dict = self.cls.__name__.startswith("dict")
        return "dictionary changed size" if is_dict else "OrderedDict mutated"

    def _item(self, key: Value, value: Value) -> Value:
        if self.kind == "keys":
            return key
        if self.kind == "values":
            return value
        from girih.frontend.capture.values.sequence import TupleValue

        return TupleValue([key, value])


class OrderIterator(DictIterator):
    """An iterator over a dict whose keys are not guarded, but their number and places.

    Once something else asks for a key by its value, all of them are guarded, and the
    iterator goes on like any other.

    Attributes:
        entries: The traced keys and values, in the order in which it goes.
    """

    def __init__(self, owner, mapping, kind, keys, cls, entries, is_reversed=False):
        super().__init__(owner, mapping, kind, keys, cls, is_reversed)
        self.entries = entries

    @property
    def is_unchanged(self) -> bool:
        """Whether the dict is as it was: whatever changes it reads all of it."""
        return self.mapping.real is not None or super().is_unchanged

    def next(self, tracer):
        """The next key, value or pair."""
        if self.mapping.real is None:
            return super().next(tracer)
        if not 0 <= self.index < len(self.entries):
            self.index = -1
            return None
        self.index += 1
        return self._item(*self.entries[self.index - 1])


class SetIterator(ItemsIterator):
    """An iterator over a set.

    Attributes:
        owner: The set.
        removals: How often it had lost members when the iterator was made.
    """

    def __init__(self, owner, items: list[Value]):
        super().__init__(items, type(iter(set())))
        self.owner = owner
        self.removals = owner.removals

    @property
    def is_unchanged(self) -> bool:
        """Whether the set has had the same members since the iterator was made."""
        same_size = length_of(self.owner.order) == len(self.items)
        return same_size and self.owner.removals == self.removals

    def next(self, tracer):
        """The next member."""
        if self.owner is not None and length_of(self.owner.order) != len(self.items):
            self.owner, self.items = None, []
            tracer.throw(RuntimeError, "Set changed size during iteration")
        if self.owner is not None and self.owner.removals != self.removals:
            _depends_on_storage("set that gets other members while it is iterated")
        found = super().next(tracer)
        if found is None:
            self.owner = None
        return found


class DequeIterator(IteratorValue):
    """An iterator over a deque.

    Attributes:
        owner: The deque.
        mutations: How often it had been changed when the iterator was made.
        index: How many items it has given.
        is_reversed: Whether ``reversed`` made it.
    """

    def __init__(self, owner, is_reversed: bool = False):
        self.owner = owner
        self.mutations = owner.mutations
        self.index = 0
        self.is_reversed = is_reversed
        self.cls = type(reversed(owner.cls()) if is_reversed else iter(owner.cls()))

    @property
    def is_unchanged(self) -> bool:
        """Whether the deque has had the same items since the iterator was made."""
        return self.owner.mutations == self.mutations

    def next(self, tracer):
        """The next item."""
        if not self.is_unchanged:
            tracer.throw(RuntimeError, "deque mutated during iteration")
        if self.index >= len(self.owner.items):
            return None
        self.index += 1
        place = -self.index if self.is_reversed else self.index - 1
        return self.owner.items[place]


class IndexIterator(IteratorValue):
    """An iterator over an object that has ``__getitem__`` only.

    Attributes:
        owner: The object; None at the end.
        index: Of the next item.
        step: 1, or -1 for ``reversed``.
        is_repeatable: Whether ``reversed`` may ask the object for its length again.
    """

    def __init__(
        self, owner: Value, cls: type, start=0, step=1, is_repeatable: bool = True
    ):
        self.owner: Value | None = owner
        self.is_repeatable = is_repeatable
        self.index = start
        self.step = step
        self.cls = cls

    @property
    def counted(self) -> Value | None:
        """What is asked for its length where somebody asks how many items may come."""
        return None if self.index < 0 else self.owner

    def next(self, tracer):
        """The item at the index; IndexError and StopIteration are the end."""
        if self.owner is None or self.index < 0:
            return None
        try:
            found = tracer.get_item(self.owner, tracer.constant(self.index))
        except Raised as raised:
            kind = raised.value.python_type()
            if not issubclass(kind, (IndexError, StopIteration)):
                raise
            self.owner = None
            return None
        self.index += self.step
        return found
