"""The table of writers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from girih.frontend.capture.values.base import Value

if TYPE_CHECKING:
    from girih.frontend.capture.rebuild import Rebuilder

Writer = Callable[["Rebuilder", Value], ast.expr]

_WRITERS: dict[type[Value], Writer] = {}


def writes(*classes: type[Value]):
    """Registers the decorated function as the writer of values of ``classes``.

    It holds for subclasses too, unless they have a writer of their own.
    """

    def register(writer: Writer) -> Writer:
        for cls in classes:
            assert cls not in _WRITERS, f"girih bug: two writers of {cls.__name__}"
            _WRITERS[cls] = writer
        return writer

    return register


def writer_of(value: Value) -> Writer | None:
    """The writer of a value, or None."""
    _load_families()
    for cls in type(value).__mro__:
        if cls in _WRITERS:
            return _WRITERS[cls]
    return None


def _load_families() -> None:
    from girih.frontend.capture.rebuilding import families

    assert families.LOADED
