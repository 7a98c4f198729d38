"""What closing a suspended generator does, read from its handlers.

``close()`` raises GeneratorExit where the generator stands. Handlers of other classes
let it pass, and nothing has happened; ``finally``, ``with`` and handlers of
``BaseException`` run code of the program.
"""

from __future__ import annotations

import builtins

_MISSING = object()

# The handlers that CPython itself writes around code: they only raise again.
_CLEANUPS = (
    ("COPY", "POP_EXCEPT", "RERAISE"),
    ("CALL_INTRINSIC_1", "RERAISE"),
    ("CLEANUP_THROW",),
)


def runs_code_when_closed(frame) -> bool:
    """Whether a handler of the program would run where the frame stands."""
    handler = frame.plan.handler_of(frame.next - 1)
    while handler is not None:
        raised_at = _passes(frame, handler.target)
        if raised_at is None:
            return True
        handler = frame.plan.handler_of(raised_at)
    return False


def _passes(frame, index: int) -> int | None:
    """Where a handler raises GeneratorExit again; None where it does something else."""
    instructions = frame.plan.instructions
    for names in _CLEANUPS:
        found = instructions[index : index + len(names)]
        if tuple(i.opname for i in found) == names:
            return index + len(names) - 1
    if instructions[index].opname != "PUSH_EXC_INFO":
        return None
    index += 1
    while instructions[index].opname != "RERAISE":
        index = _next_clause(frame, index)
        if index is None:
            return None
    return index


def _next_clause(frame, index: int) -> int | None:
    """Where ``except (A, B):`` goes on for another class than these."""
    instructions = frame.plan.instructions
    classes = []
    while instructions[index].opname == "LOAD_GLOBAL":
        classes.append(_global(frame, instructions[index].argval))
        index += 1
    if instructions[index].opname == "BUILD_TUPLE":
        index += 1
    check, jump = instructions[index : index + 2]
    if check.opname != "CHECK_EXC_MATCH" or not all(map(_is_other, classes)):
        return None
    is_jump = jump.opname.startswith("POP_JUMP") and jump.opname.endswith("IF_FALSE")
    return frame.plan.index[jump.argval] if is_jump else None


def _global(frame, name: str):
    found = frame.namespace.get(name, _MISSING)
    return getattr(builtins, name, _MISSING) if found is _MISSING else found


def _is_other(cls) -> bool:
    return isinstance(cls, type) and not issubclass(GeneratorExit, cls)
