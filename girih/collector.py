"""Python's cyclic garbage collector, paused while girih compiles or is imported.

A compilation makes hundreds of thousands of objects that live until it ends. Each of
the collector's full passes walks all of them, and the user's model besides: half a
second of the compilation of a 12-layer GPT-2 (2026-11-20).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_depth = 0
_was_enabled = False


@contextmanager
def paused() -> Iterator[None]:
    """Pauses the collector; nests, and several threads may do so at once."""
    global _depth, _was_enabled
    with _lock:
        if _depth == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and _was_enabled:
                gc.enable()
