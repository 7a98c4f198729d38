"""The table of writers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from girih.frontend.capture.values.base import Value

if TYPE_CHECKING:
    from girih.frontend.capture.rebuild import Rebuilder

Writer = Callable[["Rebuilder", Value], ast.expr]

WRITERS: dict[type[Value], Writer] = {}


def writes(*classes: type[Value]):
    """Registers the decorated function as the writer of values of ``classes``.

    It holds for subclasses too, unless they have a writer of their own.
    """

    def register(writer: Writer) -> Writer:
        for cls in classes:
            assert cls not in WRITERS, f"girih bug: two writers of {cls.__name__}"
            WRITERS[cls] = writer
        return writer

    return register
