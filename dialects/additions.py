"""What plugins add to girih's tables, taken back if one can't be loaded whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

_open: list[list[Callable[[], None]]] = []


def is_foreign(added: Any) -> bool:
    """Returns whether a function or a class is none of girih's own.

    A plugin may be the first to import some of girih's modules, whose additions stay.
    """
    module = getattr(added, "__module__", None) or "__main__"
    return callable(added) and module.partition(".")[0] != "girih"


def on_failure(undo: Callable[[], None]) -> None:
    """Notes what takes an addition back. Outside of ``all_or_nothing`` nothing does."""
    if _open:
        _open[-1].append(undo)


def put(table: MutableMapping[Any, Any], key: Any, value: Any, added: Any) -> None:
    """Sets an entry of a table; a failure gives it the value that it had.

    Args:
        table: The table.
        key: Of the entry.
        value: Of the entry.
        added: The function or class that the entry is for.
    """
    if _open and is_foreign(added):
        had = key in table
        before = table.get(key)
        on_failure(lambda: table.update({key: before}) if had else table.pop(key, None))
    table[key] = value


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Takes back what the block has added to girih's tables if it raises."""
    _open.append([])
    try:
        yield
    except BaseException:
        for undo in reversed(_open.pop()):
            undo()
        raise
    done = _open.pop()
    if _open:
        _open[-1].extend(done)
