"""What belongs to a code object, or a class, by its identity.

Code objects compare by value, and two equal ones may belong to different files; how
classes compare is up to their metaclass. Nothing is held alive: an entry goes with what
it is about.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class ByIdentity(Generic[K, T]):
    """A dict by identity that holds no key alive; a value must not refer to its own."""

    def __init__(self):
        self._entries: dict[int, tuple[weakref.ref, T]] = {}

    def get(self, key: K) -> T | None:
        """What was set for a key, or None."""
        found = self._entries.get(id(key))
        return None if found is None else found[1]

    def set(self, key: K, value: T) -> None:
        """Sets what belongs to a key, for as long as that lives."""
        # The callback runs before the memory, and so the id, can be used again.
        name, forget = id(key), self._entries.pop
        reference = weakref.ref(key, lambda _: forget(name, None))
        self._entries[name] = (reference, value)

    def __len__(self) -> int:
        return len(self._entries)


def per_code(function: Callable[[types.CodeType], T]) -> Callable[[types.CodeType], T]:
    """Makes a function of a code object remember its results; none may be None."""
    known: ByIdentity[types.CodeType, T] = ByIdentity()

    @wraps(function)
    def remembering(code: types.CodeType) -> T:
        found = known.get(code)
        if found is None:
            found = function(code)
            known.set(code, found)
        return found

    return remembering
