"""One compilation at a time.

Torch's tables of operators are filled while a program is compiled, which two threads
may not do at once; nor would two be faster, for compiling is Python. Calls of what is
compiled never come here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_lock = RLock()


@contextmanager
def compilation() -> Iterator[bool]:
    """Lets one thread compile at a time; a compilation may start others.

    Yields:
        Whether another thread compiled meanwhile: what this one came for may be there.
    """
    lock = _lock
    waited = not lock.acquire(blocking=False)
    if waited:
        lock.acquire()
    try:
        yield waited
    finally:
        lock.release()


def _renew() -> None:
    """In a child process the thread that holds the lock does not exist."""
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_renew)
