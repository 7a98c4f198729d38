"""What the first ``girih.compile`` imports, so that no call of a function does."""

from __future__ import annotations

import functools
from importlib import import_module

import girih
from girih import collector


@functools.cache
def load_compiler() -> None:
    """Imports all that a compilation uses.

    That takes a second of processor time, a fifth more if the garbage collector runs.
    """
    with collector.paused():
        import_module("girih.compiler").preload()
        # A program that is traced may use a name that it had not used before.
        for name in girih.__all__:
            getattr(girih, name)
