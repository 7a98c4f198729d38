"""Dicts of hooks: torch numbers their keys anew, so their order is what counts.

Each hook that is registered gets the next number of a counter of the whole process as
its key. A program that registers a hook in each call would be compiled again in each
call if the keys were guarded. Loops over hooks take them by their places instead.
"""

from __future__ import annotations

from typing import Any

from girih.frontend.capture.source import Source
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.lookup import content_of, is_same_key, length_of
from girih.frontend.capture.values.symbol import SymbolValue


def is_of_hooks(source: Source | None) -> bool:
    """Whether torch names a dict as it does those of hooks, and of their options."""
    return source is not None and type(source.key) is str and "_hooks" in source.key


def goes_by_order(mapping: Any) -> bool:
    """Whether a loop over a dict that existed before takes its items by their places.

    That is right for every dict whose keys are plain; the name is a matter of speed.
    """
    if mapping.real is None or mapping.items or not is_of_hooks(mapping.source):
        return False
    return all(type(key) is int for key in content_of(mapping.real))


def entries_of(tracer, mapping: Any) -> list[tuple[Value, Value]]:
    """The keys and values of a dict by their places; a key is guarded if it is used."""
    mapping.length(tracer)  # guards it
    source, found = mapping.source, []
    for index, key in enumerate(content_of(mapping.real)):
        value = dict.__getitem__(mapping.real, key)
        traced = Constant(key, source.key_at(index), tracer)
        found.append((traced, tracer.wrap(value, source.value_at(index))))
    return found


def holds_key(tracer, mapping: Any, key: Value) -> bool | None:
    """``key in mapping`` without the key's value; None where the value is needed.

    Nothing is in an empty dict. The options of hooks stand in a dict beside that of
    the hooks, under the same keys.
    """
    if mapping.real is None or not is_of_hooks(mapping.source):
        return None
    is_late = isinstance(key, Constant) and not key.is_guarded
    if length_of(mapping.real) == 0 and (is_late or isinstance(key, SymbolValue)):
        return mapping.length(tracer) > 0
    if not is_late:
        return None
    hooks, place = key.source.base, key.source
    is_beside = hooks is not None and hooks.base is mapping.source.base
    if place.access != "key_at" or not is_beside or mapping.source.base is None:
        return None
    if {hooks.access, mapping.source.access} != {"dict_item"}:
        return None
    found = any(is_same_key(own, key.unguarded) for own in content_of(mapping.real))
    check = SharesKey(hooks.key, place.key, mapping.source.key, found)
    tracer.guards.add(mapping.source.base, "call", check)
    return found


class SharesKey:
    """A guard: whether the key at a place in one dict of a namespace is in another."""

    def __init__(self, first: str, index: int, second: str, result: bool):
        self.first, self.index, self.second = first, index, second
        self.result = result
        relation = "in" if result else "not in"
        self.__qualname__ = f"list({first})[{index}] {relation} {second} of "

    def __call__(self, namespace: dict[str, Any]) -> bool:
        """Whether it still is, or still is not."""
        keys = list(namespace[self.first])
        is_there = self.index < len(keys)
        return is_there and (keys[self.index] in namespace[self.second]) is self.result
