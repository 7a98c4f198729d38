"""What belongs to a code object, by its identity.

Code objects compare by value, and two equal ones may belong to different files. Nothing
is held alive: an entry goes with the code that it is about.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


class ByIdentity:
    """A dict from code objects, by identity, that holds none of them alive."""

    def __init__(self):
        self._entries: dict[int, tuple[weakref.ref, Any]] = {}

    def get(self, code: types.CodeType) -> Any:
        """What was set for a code object, or None."""
        found = self._entries.get(id(code))
        return None if found is None else found[1]

    def set(self, code: types.CodeType, value: Any) -> None:
        """Sets what belongs to a code object, for as long as that lives."""
        # The callback runs before the memory, and so the id, can be used again.
        key, forget = id(code), self._entries.pop
        reference = weakref.ref(code, lambda _: forget(key, None))
        self._entries[key] = (reference, value)

    def __len__(self) -> int:
        return len(self._entries)


def per_code(function: Callable[[types.CodeType], T]) -> Callable[[types.CodeType], T]:
    """Makes a function of a code object remember its results; none may be None."""
    known = ByIdentity()

    @wraps(function)
    def remembering(code: types.CodeType) -> T:
        found = known.get(code)
        if found is None:
            found = function(code)
            known.set(code, found)
        return found

    return remembering
