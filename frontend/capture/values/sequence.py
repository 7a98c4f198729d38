"""Lists, tuples and slices."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value

_LONGEST = 1 << 22  # items


class SequenceValue(Value):
    """A list or a tuple.

    Attributes:
        items: The items.
        cls: ``list``, ``tuple``, ``torch.Size``, a named tuple, ....
    """

    def __init__(self, items: list[Value], cls: type, source=None):
        self.items = items
        self.cls = cls
        self.source = source

    def python_type(self) -> type:
        """The class."""
        return self.cls

    def as_python(self) -> Any:
        """A list or tuple of the items, where all are known."""
        items = [item.as_python() for item in self.items]
        if self.cls in (list, tuple, torch.Size):
            return self.cls(items)
        if hasattr(self.cls, "_make"):
            return self.cls._make(items)
        return self.cls(items)

    def truth(self, tracer) -> bool:
        """Whether it has items."""
        return bool(self.items)

    def length(self, tracer) -> int:
        """Number of items."""
        return len(self.items)

    def iterate(self, tracer):
        """The items; like Python's, it sees items added meanwhile."""
        index = 0
        while index < len(self.items):
            yield self.items[index]
            index += 1

    def get_item(self, tracer, key):
        """``self[index]`` and ``self[slice]``."""
        index = tracer.index_of(key, f"{self.cls.__name__} ")
        try:
            found = self.items[index]
        except IndexError:
            tracer.throw(IndexError, f"{self.cls.__name__} index out of range")
        except ValueError as error:  # of a slice
            tracer.throw(ValueError, *error.args)
        if not isinstance(index, slice):
            return found
        plain = self._plain_class()
        return self._sibling(found, plain)

    def _plain_class(self) -> type:
        """The class of slices and sums: that of a subclass is lost."""
        if isinstance(self, ListValue):
            return list
        return torch.Size if self.cls is torch.Size else tuple

    def _sibling(self, items: list[Value], cls: type) -> SequenceValue:
        return (ListValue if cls is list else TupleValue)(items, cls)

    def concatenate(self, tracer, other: Value) -> Value:
        """``self + other``."""
        if not isinstance(other, SequenceValue) or (
            isinstance(self, ListValue) != isinstance(other, ListValue)
        ):
            mine = self._plain_class().__name__
            theirs = other.python_type().__name__
            message = f'can only concatenate {mine} (not "{theirs}") to {mine}'
            tracer.throw(TypeError, message)
        items = self.items + other.items
        if other.cls is torch.Size:  # it has a reflected addition
            return TupleValue(items, torch.Size)
        return self._sibling(items, self._plain_class())

    def repeat(self, tracer, count: int) -> Value:
        """``self * count``."""
        if len(self.items) * count > _LONGEST:
            unsupported(
                kind="list or tuple that is too long to be traced",
                context=f"{len(self.items)} items, {count} times",
                explanation=(
                    "girih follows each item separately, so a long sequence takes too "
                    "long to trace."
                ),
            )
        return self._sibling(self.items * count, self._plain_class())

    def method_index(self, tracer, item, *bounds):
        """``self.index(item, start, stop)``."""
        start, stop, *_ = *(tracer.index_of(bound) for bound in bounds), None, None
        for index in range(*slice(start, stop).indices(len(self.items))):
            if tracer.equal(self.items[index], item):
                return tracer.constant(index)
        if self.cls is not list:
            tracer.throw(ValueError, "tuple.index(x): x not in tuple")
        text = repr(item.as_python())
        tracer.throw(ValueError, f"{text} is not in list")

    def method_count(self, tracer, item):
        """``self.count(item)``."""
        return tracer.constant(sum(tracer.equal(own, item) for own in self.items))

    def method___len__(self, tracer):
        """``self.__len__()``."""
        return tracer.constant(len(self.items))

    def method___getitem__(self, tracer, key):
        """``self.__getitem__(key)``."""
        return self.get_item(tracer, key)

    def method___contains__(self, tracer, item):
        """``self.__contains__(item)``."""
        return tracer.constant(self.contains(tracer, item))

    def method___iter__(self, tracer):
        """``self.__iter__()``."""
        return tracer.iterator(self)

    def __repr__(self) -> str:
        return f"{self.cls.__name__}{self.items}"


class TupleValue(SequenceValue):
    """A tuple, ``torch.Size``, named tuple or structure returned by torch."""

    def __init__(self, items, cls: type = tuple, source=None):
        super().__init__(items, cls, source)

    def get_attr(self, tracer, name):
        """Fields of named tuples; methods."""
        fields = getattr(self.cls, "_fields", None) or self._structure_fields()
        if name in fields:
            return self.items[fields.index(name)]
        member, _ = tracer.lookup(self.cls, name)
        if isinstance(member, (types.FunctionType, classmethod, property)):
            return tracer.bind_member(self, member, name)
        return super().get_attr(tracer, name)

    def _structure_fields(self) -> tuple[str, ...]:
        if self.cls.__module__ == "torch.return_types":
            return self.cls.__match_args__
        return ()

    def method_numel(self, tracer):
        """``torch.Size.numel()``."""
        product = tracer.constant(1)
        for item in self.items:
            product = tracer.binary(operator.mul, product, item)
        return product

    def method__asdict(self, tracer):
        """``namedtuple._asdict()``."""
        names = [tracer.constant(name) for name in self.cls._fields]
        return tracer.dict_of(list(zip(names, self.items, strict=True)))


class ListValue(SequenceValue):
    """A list; changes to one that existed before are replayed after the graph ran.

    The items of one from outside are read, and guarded, when something looks at them;
    appending does not.

    Attributes:
        added: What was appended to one that was not read.
        original: The items of one from outside, once they were read.
    """

    def __init__(self, items, cls: type = list, source=None):
        self.added: list[Value] = []
        self.original: list[Value] = []
        self._read: Callable[[], list[Value]] | None = None
        super().__init__(items, cls, source)

    @property
    def items(self) -> list[Value]:
        """The items."""
        if self._read is not None:
            read, self._read = self._read, None
            self.original = read()
            self._items = [*self.original, *self.added]
        return self._items

    @items.setter
    def items(self, items: list[Value]) -> None:
        self._read = None
        self._items = items

    @property
    def is_unread(self) -> bool:
        """Whether nothing has looked at the items."""
        return self._read is not None

    def read_later(self, read: Callable[[], list[Value]]) -> None:
        """Has the items read when something looks at them."""
        self._read = read

    def set_item(self, tracer, key, value):
        """``self[index] = value`` and ``self[slice] = values``."""
        index = tracer.index_of(key)
        tracer.effects.change(self)
        found: Any = value
        if isinstance(index, slice):
            found = _assigned(tracer, index, value)
        try:
            self.items[index] = found
        except IndexError:
            tracer.throw(IndexError, "list assignment index out of range")
        except ValueError as error:  # of a slice
            tracer.throw(ValueError, *error.args)

    def delete_item(self, tracer, key):
        """``del self[key]``."""
        index = tracer.index_of(key)
        tracer.effects.change(self)
        try:
            del self.items[index]
        except IndexError:
            tracer.throw(IndexError, "list assignment index out of range")
        except ValueError as error:  # of a slice
            tracer.throw(ValueError, *error.args)

    def method___setitem__(self, tracer, key, value):
        """``self.__setitem__(key, value)``."""
        self.set_item(tracer, key, value)
        return tracer.constant(None)

    def method___init__(self, tracer, items=None):
        """``list.__init__(self, items)``."""
        tracer.effects.change(self)
        self.items.clear()
        return self.method_extend(tracer, TupleValue([]) if items is None else items)

    def method_append(self, tracer, item):
        """``self.append(item)``."""
        self._add(tracer, [item])
        return tracer.constant(None)

    def method_extend(self, tracer, items):
        """``self.extend(items)``; those before an error stay."""
        if isinstance(items, SequenceValue):
            self._add(tracer, list(items.items))
            return tracer.constant(None)
        for item in tracer.counted_items(items):
            self._add(tracer, [item])
        return tracer.constant(None)

    def _add(self, tracer, items: list[Value]) -> None:
        if self.is_unread:
            tracer.effects.append(self)
            self.added += items
        else:
            tracer.effects.change(self)
            self.items.extend(items)

    def __repr__(self) -> str:
        return f"{self.cls.__name__} [...]" if self.is_unread else super().__repr__()

    def method_insert(self, tracer, index, item):
        """``self.insert(index, item)``."""
        tracer.effects.change(self)
        self.items.insert(tracer.integer_of(index), item)
        return tracer.constant(None)

    def method_pop(self, tracer, index=None):
        """``self.pop(index)``."""
        tracer.effects.change(self)
        try:
            return self.items.pop(-1 if index is None else tracer.integer_of(index))
        except IndexError:
            message = "pop index out of range" if self.items else "pop from empty list"
            tracer.throw(IndexError, message)

    def method_remove(self, tracer, item):
        """``self.remove(item)``."""
        tracer.effects.change(self)
        for index, own in enumerate(self.items):
            if tracer.equal(own, item):
                del self.items[index]
                return tracer.constant(None)
        tracer.throw(ValueError, "list.remove(x): x not in list")

    def method_clear(self, tracer):
        """``self.clear()``."""
        tracer.effects.change(self)
        self.items.clear()
        return tracer.constant(None)

    def method_reverse(self, tracer):
        """``self.reverse()``."""
        tracer.effects.change(self)
        self.items.reverse()
        return tracer.constant(None)

    def method_copy(self, tracer):
        """``self.copy()``."""
        return ListValue(list(self.items))

    def method_sort(self, tracer, key=None, reverse=None):
        """``self.sort(key=key, reverse=reverse)``."""
        tracer.effects.change(self)
        items, self.items[:] = list(self.items), []  # Python, too, hides the items
        try:
            items = sorted_items(tracer, items, key, reverse)
        finally:
            is_changed, self.items[:] = bool(self.items), items
        if is_changed:
            tracer.throw(ValueError, "list modified during sort")
        return tracer.constant(None)


def _assigned(tracer, place: slice, values: Value) -> list[Value]:
    """The items that are put into a slice of a list."""
    if type(values) in (ListValue, TupleValue) and values.cls in (list, tuple):
        return list(values.items)
    raises = functools.partial(tracer.fold_raw, operator.setitem, [], place, 0)
    return tracer.fast_sequence(values, raises)  # the message is that of this Python


class SliceValue(Value):
    """A slice object."""

    def __init__(self, start: Value, stop: Value, step: Value, source=None):
        self.parts = (start, stop, step)
        self.source = source

    def python_type(self) -> type:
        """``slice``."""
        return slice

    def as_python(self) -> slice:
        """The slice, where its bounds are known."""
        return slice(*(part.as_python() for part in self.parts))

    def get_attr(self, tracer, name):
        """``start``, ``stop`` and ``step``."""
        names = ("start", "stop", "step")
        if name in names:
            return self.parts[names.index(name)]
        return super().get_attr(tracer, name)

    def method_indices(self, tracer, length):
        """``self.indices(length)``."""
        return tracer.fold(self.as_python().indices, length.as_python())


def sorted_items(tracer, items, key=None, reverse=None) -> list[Value]:
    """``sorted(items)``: compares what is not known by the program's own ``<``."""
    items = list(items)
    keys = items
    if key is not None and not tracer.is_none(key):
        keys = [tracer.call(key, [item], {}) for item in items]
    backwards = reverse is not None and reverse.truth(tracer)
    by = [_Sortable(tracer, value) for value in keys]
    order = sorted(range(len(items)), key=by.__getitem__, reverse=backwards)
    return [items[index] for index in order]


class _Sortable:
    """A traced value that compares as the traced program does."""

    __slots__ = ("tracer", "value")

    def __init__(self, tracer, value: Value):
        self.tracer = tracer
        self.value = value

    def __lt__(self, other) -> bool:
        found = self.tracer.compare(operator.lt, self.value, other.value)
        return found.truth(self.tracer)
