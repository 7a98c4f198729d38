"""The table of opcode handlers.

A handler is ``f(tracer, frame, instruction)``; it returns None, or what ``run``
returns when the frame is left. Each is registered with the CPython versions in which
it holds, so that handlers hold no version checks; the table of this process is chosen
once, on import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

VERSION = sys.version_info[:2]
HANDLERS: dict[str, Callable] = {}


def opcode(*names: str, since: tuple[int, int] = (3, 11), until=(3, 99)):
    """Registers a handler for opcodes.

    Args:
        names: Names of the opcodes.
        since: First CPython version it holds for.
        until: Last one.
    """

    def register(handler: Callable) -> Callable:
        if since <= VERSION <= until:
            for name in names:
                assert name not in HANDLERS, f"girih bug: two handlers of {name}"
                HANDLERS[name] = handler
        return handler

    return register


def of_version(table: dict[tuple[int, int], Any]) -> Any:
    """What a table has for this CPython: the entry of the newest version before it."""
    return table[max(version for version in table if version <= VERSION)]
