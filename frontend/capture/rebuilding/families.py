"""The writers of all values: every family registers its own on import."""

from __future__ import annotations

from girih.frontend.capture.rebuilding import (  # noqa: F401  (they register)
    containers,
    exceptions,
    functions,
    generators,
    iterators,
    numbers,
    objects,
    values,
)
from girih.frontend.capture.rebuilding.registry import WRITERS, Writer
from girih.frontend.capture.values.base import Value


def writer_of(value: Value) -> Writer | None:
    """The writer of a value, or None."""
    for cls in type(value).__mro__:
        if cls in WRITERS:
            return WRITERS[cls]
    return None
