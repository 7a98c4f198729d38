"""Sets and frozensets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.values.base import NotConstant, Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.key import Key, check_hashable, key_of
from girih.frontend.capture.values.lookup import (
    call_builtin,
    content_of,
    is_in,
    length_of,
)
from girih.frontend.capture.values.mapping import DictValue, KeyOrder

_HISTORY = (
    "The iteration order of a set that existed before the call depends on how it was "
    "filled and changed. girih does not know that."
)


class SetValue(Value):
    """A set or frozenset.

    What the members hash and compare like is in a real set, made and changed by the
    same methods, so iteration has Python's order.

    Attributes:
        order: The real set.
        keys: The member for each item of it.
        cls: ``set`` or ``frozenset``.
        real: The set that existed before, until all of it was read.
        before: The members of a set from outside before it was changed.
        removals: How often members have gone.
    """

    def __init__(self, keys=(), cls: type = set, source=None, real=None):
        self.order: Any = cls(key.python for key in keys)
        self.keys: dict[Any, Key] = _chosen(self.order, [keys])
        self.cls = cls
        self.source = source
        self.real = real
        self.before: dict[Any, Key] | None = None
        self.removals = 0

    @classmethod
    def of(cls, tracer, items: Value, python_class: type = set) -> SetValue:
        """``set(items)``."""
        made = cls((), python_class)
        order, keys = _part_of(tracer, items)
        made.order = python_class(order)
        made.keys = _chosen(made.order, [keys])
        made._take_order(tracer, [items])
        return made

    def python_type(self) -> type:
        """The class."""
        return self.cls

    def as_python(self) -> Any:
        """The set, where all members are known."""
        if self.real is not None or self.before is not None:
            return super().as_python()
        if all(isinstance(key.value, Constant) for key in self.keys.values()):
            return self.order
        return self.cls(
            self.keys[item].value.as_python() for item in content_of(self.order)
        )

    def read_all(self, tracer) -> SetValue:
        """Reads all members, of a set that existed before too."""
        if self.real is not None:
            real, self.real = self.real, None
            tracer.guards.add(self.source, "equals", self.cls(real))
            keys = [Key(tracer.key_of(item)) for item in content_of(real)]
            self.keys = {key.python: key for key in keys}
            self.order = real
        return self

    def change(self, tracer) -> SetValue:
        """Notes that the members are about to be changed."""
        self.read_all(tracer)
        tracer.effects.change(self)
        if self.source is not None and self.before is None:
            self.order, self.before = set(self.order), dict(self.keys)
        return self

    def changes(self) -> tuple[list[Value], list[Value]]:
        """The members that a set from outside has lost, and those it has got."""
        before = self.before or {}
        lost = [
            key.value for item, key in before.items() if not is_in(item, self.order)
        ]
        now = content_of(self.order)
        got = [self.keys[item].value for item in now if item not in before]
        return lost, got

    def truth(self, tracer) -> bool:
        """Whether it has members."""
        return self.length(tracer) > 0

    def length(self, tracer) -> int:
        """Number of members."""
        return length_of(self.read_all(tracer).order)

    def members(self) -> list[Value]:
        """The members that are known, in order."""
        return [self.keys[item].value for item in content_of(self.order)]

    def iterate(self, tracer):
        """The members."""
        return tracer.iterator(self).iterate(tracer)

    def ordered(self, tracer) -> list[Value]:
        """The members; the order of a set from outside is guarded."""
        order = tuple(content_of(self.read_all(tracer).order))
        if self.before is not None:
            unsupported(
                kind="iteration over a set that was changed",
                context=repr(self),
                explanation=_HISTORY,
                hints=("Iterate over sorted(...), or use a dict.",),
            )
        self._guard_order(tracer, order)
        return self.members()

    def _guard_order(self, tracer, order: tuple) -> None:
        if self.source is not None:
            tracer.guards.add(self.source, "call", KeyOrder(order))

    def _take_order(self, tracer, others: Iterable[Value]) -> None:
        """Notes that the order of others decides the order of this set."""
        for other in others:
            part = getattr(other, "base", None)
            part = part if isinstance(part, SetValue) else other
            if isinstance(part, SetValue) and part is not self:
                if part.before is None:
                    part._guard_order(tracer, tuple(content_of(part.order)))
                elif self.before is None:
                    self.before = dict(self.keys)  # the order is not known

    def ordered_keys(self, tracer) -> list[Key]:
        """The keys of the members, in an order that is guarded."""
        self.ordered(tracer)
        return [self.keys[item] for item in content_of(self.order)]

    def contains(self, tracer, item) -> bool:
        """Whether a member is there; a set is looked for as a frozen one."""
        item = _hashable_set(tracer, item)
        check_hashable(tracer, item)
        if self.real is None:
            return is_in(key_of(tracer, item).python, self.order)
        try:
            python_item = tracer.key_python(item)
        except NotConstant:
            python_item = key_of(tracer, item).python
            return is_in(python_item, self.read_all(tracer).order)
        found = is_in(python_item, self.real)
        kind = "contains" if found else "absent"
        tracer.guards.add(self.source, kind, python_item)
        return found

    def method___init__(self, tracer, items=None):
        """``set.__init__(self, items)``; a frozenset has its items from the start."""
        if not issubclass(self.cls, frozenset):
            self.method_clear(tracer)
            self.method_update(tracer, *([] if items is None else [items]))
        return tracer.constant(None)

    def method___contains__(self, tracer, item):
        """``self.__contains__(item)``."""
        return tracer.constant(self.contains(tracer, item))

    def method___len__(self, tracer):
        """``self.__len__()``."""
        return tracer.constant(self.length(tracer))

    def method___iter__(self, tracer):
        """``self.__iter__()``."""
        return tracer.iterator(self)

    def method_add(self, tracer, item):
        """``self.add(item)``."""
        key = key_of(tracer, item)
        order = self.change(tracer).order
        before = len(order)
        order.add(key.python)
        if len(order) > before:
            self.keys[key.python] = key
        return tracer.constant(None)

    def method_discard(self, tracer, item):
        """``self.discard(item)``."""
        python = key_of(tracer, _hashable_set(tracer, item)).python
        self.change(tracer).order.discard(python)
        self.removals += python in self.keys
        self.keys.pop(python, None)
        return tracer.constant(None)

    def method_remove(self, tracer, item):
        """``self.remove(item)``."""
        if not self.contains(tracer, item):
            tracer.throw_value(KeyError, [item])
        return self.method_discard(tracer, item)

    def method_pop(self, tracer):
        """``self.pop()``: the member that Python would take."""
        if not self.truth(tracer):
            tracer.throw(KeyError, "pop from an empty set")
        self.ordered(tracer)  # its order is known, and guarded
        self.removals += 1
        return self.keys.pop(self.change(tracer).order.pop()).value

    def method_clear(self, tracer):
        """``self.clear()``."""
        self.change(tracer).order.clear()
        self.removals += bool(self.keys)
        self.keys.clear()
        return tracer.constant(None)

    def method_copy(self, tracer):
        """``self.copy()``."""
        return self.combine(tracer, "copy", ())

    def combine(self, tracer, name: str, others) -> SetValue:
        """A new set: what the method of sets called ``name`` gives."""
        self.read_all(tracer)
        parts = [_part_of(tracer, other) for other in others]
        made = SetValue((), self.cls)
        theirs = (order for order, _ in parts)
        made.order = call_builtin(self.order, name, *theirs)
        made.keys = _chosen(
            made.order, [self.keys.values(), *(keys for _, keys in parts)]
        )
        made._take_order(tracer, [self, *others])
        return made

    def _change_with(self, tracer, name: str, others) -> Value:
        parts = [_part_of(tracer, other) for other in others]
        order = self.change(tracer).order
        self._take_order(tracer, others)
        try:
            getattr(order, name)(*(theirs for theirs, _ in parts))
        finally:  # what was done before an error stays
            mine = list(self.keys.values())
            self.keys = _chosen(order, [mine, *(keys for _, keys in parts)])
            kept = set(map(id, self.keys.values()))
            self.removals += any(id(key) not in kept for key in mine)
        return tracer.constant(None)

    def method_update(self, tracer, *others):
        """``self.update(*others)``."""
        return self._change_with(tracer, "update", others)

    def method_intersection_update(self, tracer, *others):
        """``self.intersection_update(*others)``."""
        return self._change_with(tracer, "intersection_update", others)

    def method_difference_update(self, tracer, *others):
        """``self.difference_update(*others)``."""
        return self._change_with(tracer, "difference_update", others)

    def method_symmetric_difference_update(self, tracer, other):
        """``self.symmetric_difference_update(other)``."""
        return self._change_with(tracer, "symmetric_difference_update", [other])

    def method_union(self, tracer, *others):
        """``self.union(*others)``."""
        return self.combine(tracer, "union", others)

    def method_intersection(self, tracer, *others):
        """``self.intersection(*others)``."""
        return self.combine(tracer, "intersection", others)

    def method_difference(self, tracer, *others):
        """``self.difference(*others)``."""
        return self.combine(tracer, "difference", others)

    def method_symmetric_difference(self, tracer, other):
        """``self.symmetric_difference(other)``."""
        return self.combine(tracer, "symmetric_difference", [other])

    def method_issubset(self, tracer, other):
        """``self.issubset(other)``."""
        order = self.read_all(tracer).order
        theirs, _ = _part_of(tracer, other)
        return tracer.constant(call_builtin(order, "issubset", theirs))

    def method_issuperset(self, tracer, other):
        """``self.issuperset(other)``."""
        order = self.read_all(tracer).order
        theirs, _ = _part_of(tracer, other)
        return tracer.constant(call_builtin(order, "issuperset", theirs))

    def method_isdisjoint(self, tracer, other):
        """``self.isdisjoint(other)``."""
        order = self.read_all(tracer).order
        is_builtin = isinstance(other, (SetValue, DictValue))
        theirs, _ = _part_of(tracer, other) if is_builtin else _lazy(tracer, other)
        return tracer.constant(call_builtin(order, "isdisjoint", theirs))


def _hashable_set(tracer, item: Value) -> Value:
    """A frozen copy in place of a set without a hash; other values as they are."""
    part = item if isinstance(item, SetValue) else getattr(item, "base", None)
    if not isinstance(part, SetValue):
        return item
    hashes = tracer.lookup(item.python_type(), "__hash__")[0] is not None
    return item if hashes else SetValue.of(tracer, part, frozenset)


def _part_of(tracer, value: Value) -> tuple[Any, Iterable[Key]]:
    """What a method of sets is called with for a value, and the members that gives.

    A set takes the members of a set of any class directly, and those of a plain dict.
    It iterates over anything else, as far as the method goes.
    """
    part = getattr(value, "base", None)
    value = part if isinstance(part, SetValue) else value
    if isinstance(value, SetValue):
        value.read_all(tracer)
        return value.order, value.keys.values()
    if isinstance(value, DictValue):
        keys = list(value.read_all(tracer))
        return {key.python: None for key in keys}, keys
    return _lazy(tracer, value)


def _lazy(tracer, value: Value) -> tuple[Iterator[Any], list[Key]]:
    """An iterator over what members hash like, and those that it has given."""
    given: list[Key] = []

    def members():
        for item in tracer.iterate(value):
            given.append(key_of(tracer, item))
            yield given[-1].python

    return members(), given


def _chosen(order, candidates: Iterable[Iterable[Key]]) -> dict[Any, Key]:
    """The member for each item: of equal ones, the one that the set kept."""
    keys = [key for part in candidates for key in part]
    same: dict[int, Key] = {}
    for key in keys:
        same.setdefault(id(key.python), key)
    chosen = {}
    equal: dict[Any, Key] = {}
    for item in content_of(order):
        found = same.get(id(item))
        if found is None:  # a tuple of a set from outside is made anew
            equal = equal or _first_of_equal(keys)
            found = equal[item]
        chosen[item] = found
    return chosen


def _first_of_equal(keys: Iterable[Key]) -> dict[Any, Key]:
    first: dict[Any, Key] = {}
    for key in keys:
        first.setdefault(key.python, key)
    return first
