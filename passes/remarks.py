"""What passes say about their decisions, for those who listen.

A pass says why it did what it did, or why it did not, with ``remark``. It gives a
function that makes the text, so a remark costs nothing where nobody listens. What a
pass asks ``Choices`` is heard, too. ``girih-opt --debug-only=PASS`` prints both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str], None]

_listeners: list[Listener] = []


def is_heard() -> bool:
    """Whether anybody listens."""
    return bool(_listeners)


def remark(text: Callable[[], str]) -> None:
    """Says something about a decision.

    Args:
        text: Gives one line, or several; an empty text is not said.
    """
    if not _listeners:
        return
    said = text()
    for listener in _listeners if said else ():
        listener(said)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """In the block, ``listener`` gets the remarks of passes, in order."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
