"""Items, attributes and iterators of traced values."""

from __future__ import annotations

from girih.frontend.capture.budget import Budget
from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.iterator import IteratorValue
from girih.frontend.capture.values.iterator.making import iterator_of
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.protocols import listed
from girih.frontend.capture.values.tensor import TensorValue


class Protocols:
    """Mixin of the tracer: what values are asked for.

    Attributes:
        budget: What the trace may still spend.
    """

    budget: Budget

    def get_attr(self, owner: Value, name: str) -> Value:
        """``owner.name``."""
        return owner.get_attr(self, name)

    def find_attr(self, owner: Value, name: str) -> Value | None:
        """``getattr(owner, name, None)``, telling apart what is missing."""
        try:
            return owner.get_attr(self, name)
        except Raised as raised:
            if not issubclass(raised.value.python_type(), AttributeError):
                raise
            return None

    def get_item(self, owner: Value, key: Value) -> Value:
        """``owner[key]``."""
        if isinstance(key, TensorValue) and not isinstance(
            owner, (DictValue, ObjectValue, TensorValue)
        ):
            key.call_method(self, "__index__", [], {})
        return owner.get_item(self, key)

    def iterate(self, value: Value):
        """A Python iterator over the items."""
        return value.iterate(self)

    def listed(self, value: Value) -> list[Value]:
        """The items that ``list(value)`` has."""
        return listed(self, value)

    def iterator(self, value: Value) -> Value:
        """``iter(value)``."""
        return iterator_of(self, value)

    def next_of(self, iterator: Value) -> Value | None:
        """``next(iterator)``; None at the end."""
        self.budget.spend()
        try:
            if isinstance(iterator, IteratorValue):
                return iterator.next(self)
            return self.call_method(iterator, "__next__", [])
        except Raised as raised:
            if not issubclass(raised.value.python_type(), StopIteration):
                raise
            return None

    def pairs_of(self, value: Value) -> list[tuple[Value, Value]]:
        """The items of a mapping, or of an iterable of pairs."""
        if isinstance(value, ObjectValue) and isinstance(value.base, DictValue):
            value = value.base
        if isinstance(value, DictValue):
            return [(key.value, item) for key, item in value.read_all(self).items()]
        if self.find_attr(value, "keys") is not None:
            keys = self.iterate(self.call_method(value, "keys", []))
            return [(key, self.get_item(value, key)) for key in keys]
        return [
            self._pair(index, pair) for index, pair in enumerate(self.iterate(value))
        ]

    def _pair(self, index: int, pair: Value) -> tuple[Value, Value]:
        place = f"dictionary update sequence element #{index}"
        try:
            items = list(self.iterate(pair))
        except Raised as raised:
            if raised.value.python_type() is not TypeError:
                raise
            self.throw(TypeError, f"cannot convert {place} to a sequence")
        if len(items) != 2:
            text = f"{place} has length {len(items)}; 2 is required"
            self.throw(ValueError, text)
        return items[0], items[1]
