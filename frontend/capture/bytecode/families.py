"""The handlers of all opcodes: every family registers its own on import."""

from __future__ import annotations

from collections.abc import Callable

from girih.errors import unsupported
from girih.frontend.capture.bytecode import (  # noqa: F401  (they register)
    build,
    call,
    exception,
    jump,
    load_store,
    operator,
    unpack,
)
from girih.frontend.capture.bytecode.table import HANDLERS
from girih.frontend.capture.models import iterators  # noqa: F401


def _unknown(tracer, frame, instruction):
    unsupported(
        kind="bytecode instruction",
        context=instruction.opname,
        explanation="girih does not follow this instruction.",
    )


def actions_of(plan) -> list[Callable]:
    """The handler of each instruction of a code object."""
    if plan.actions is None:
        plan.actions = [HANDLERS.get(i.opname, _unknown) for i in plan.instructions]
    return plan.actions


def handled() -> frozenset[str]:
    """Names of the opcodes that have a handler in this process."""
    return frozenset(HANDLERS)
