"""Items, attributes and iterators of traced values."""

from __future__ import annotations

import functools
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from girih.frontend.capture.budget import Budget
from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.iterator import IteratorValue
from girih.frontend.capture.values.iterator.making import iterator_of
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.protocols import counted_items, fast_sequence, listed
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

    def counted_items(self, value: Value) -> Iterator[Value]:
        """The same, one by one."""
        return counted_items(self, value)

    def fast_sequence(
        self, value: Value, error: str | Callable[[], Any]
    ) -> list[Value]:
        """The items that C code takes for a list.

        Args:
            value: What is read.
            error: The message of the TypeError if it has none, or what raises that.
        """
        if isinstance(error, str):
            error = functools.partial(self.throw, TypeError, error)
        return fast_sequence(self, value, error)

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

    def pairs_of(self, value: Value) -> Iterator[tuple[Value, Value]]:
        """The items of a mapping, or of an iterable of pairs, as a dict takes them.

        Source: https://github.com/python/cpython/blob/3.12/Objects/dictobject.c
        (``dict_merge``, ``PyDict_MergeFromSeq2``)
        """
        content = self._dict_read_directly(value)
        if content is not None:
            items = list(content.read_all(self).items())
            yield from ((key.value, item) for key, item in items)
        elif self.find_attr(value, "keys") is not None:
            for key in self._keys_of(value):
                yield key, self.get_item(value, key)
        else:
            for index, pair in enumerate(self.iterate(value)):
                yield self._pair(index, pair)

    def _dict_read_directly(self, value: Value) -> DictValue | None:
        """The dict whose items are read past the methods of its class."""
        if isinstance(value, DictValue):
            return value
        if not isinstance(value, ObjectValue) or not isinstance(value.base, DictValue):
            return None
        # An OrderedDict is always asked by methods, which may be the builtin ones.
        names = ("__iter__",)
        if issubclass(value.cls, OrderedDict):
            names = ("__iter__", "keys", "__getitem__")
        members = (self.lookup(value.cls, name)[0] for name in names)
        is_own = any(isinstance(member, types.FunctionType) for member in members)
        return None if is_own else value.base

    def _keys_of(self, value: Value) -> list[Value]:
        """All keys of a mapping, which are read before any of its items."""
        keys = self.call_method(value, "keys", [])
        owner, kind = value.python_type().__name__, keys.python_type().__name__
        text = f"{owner}.keys() returned a non-iterable (type {kind})"
        return self.fast_sequence(keys, text)

    def _pair(self, index: int, pair: Value) -> tuple[Value, Value]:
        place = f"dictionary update sequence element #{index}"
        text = f"cannot convert {place} to a sequence"
        try:
            items = self.fast_sequence(pair, text)
        except Raised as raised:
            if not issubclass(raised.value.python_type(), TypeError):
                raise
            self.throw(TypeError, text)
        if len(items) != 2:
            text = f"{place} has length {len(items)}; 2 is required"
            self.throw(ValueError, text)
        return items[0], items[1]
