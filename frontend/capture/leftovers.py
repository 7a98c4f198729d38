"""What torch would keep of a capture for ever, given back.

Torch registers the source of each graph module that it compiles, and holds each
``ShapeEnv`` in caches of its methods. A program that captures again and again would
grow by a few kilobytes each time.
"""

from __future__ import annotations

import functools
import linecache
import weakref
from types import FunctionType

from torch.fx import graph_module


def forget_with(function: FunctionType) -> None:
    """Drops the source that FX registered for a function when the function goes."""
    weakref.finalize(function, _forget, function.__code__.co_filename).atexit = False


def _forget(filename: str) -> None:
    graph_module._loader.eval_cache.pop(filename, None)
    linecache.cache.pop(filename, None)


def forget_environments() -> None:
    """Empties the caches that hold every ``ShapeEnv`` there was."""
    for cached in _caches_of_environments():
        cached.cache_clear()


@functools.cache
def _caches_of_environments() -> tuple:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    members = vars(ShapeEnv).values()
    return tuple(member for member in members if hasattr(member, "cache_clear"))
