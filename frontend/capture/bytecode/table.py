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

from girih.errors import unsupported

VERSION = sys.version_info[:2]
_HANDLERS: dict[str, Callable] = {}


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
                assert name not in _HANDLERS, f"girih bug: two handlers of {name}"
                _HANDLERS[name] = handler
        return handler

    return register


def of_version(table: dict[tuple[int, int], Any]) -> Any:
    """What a table has for this CPython: the entry of the newest version before it."""
    return table[max(version for version in table if version <= VERSION)]


def _unknown(tracer, frame, instruction):
    unsupported(
        kind="bytecode instruction",
        context=instruction.opname,
        explanation="girih does not follow this instruction.",
    )


def actions_of(plan) -> list[Callable]:
    """The handler of each instruction of a code object."""
    if plan.actions is None:
        _load_families()
        plan.actions = [_HANDLERS.get(i.opname, _unknown) for i in plan.instructions]
    return plan.actions


def handled() -> frozenset[str]:
    """Names of the opcodes that have a handler in this process."""
    _load_families()
    return frozenset(_HANDLERS)


def _load_families() -> None:
    from girih.frontend.capture.bytecode import families

    assert families.LOADED
