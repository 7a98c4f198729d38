"""Which locals may still be read."""

from __future__ import annotations

import types

from girih.frontend.capture.resume.identity import ByIdentity, per_code
from girih.frontend.capture.resume.instructions import (
    JUMPS,
    OPS,
    PAIRED,
    Instruction,
    decode,
)
from girih.frontend.capture.resume.tables import handlers_of

# Names by which code looks at all locals of its own frame.
_OBSERVERS = frozenset(
    {
        "_getframe",
        "breakpoint",
        "currentframe",
        "dir",
        "eval",
        "exec",
        "f_locals",
        "getargvalues",
        "locals",
        "set_trace",
        "stack",
        "trace",
        "vars",
    }
)
_ENDS = frozenset(
    OPS[name]
    for name in (
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
        "JUMP_FORWARD",
        "RAISE_VARARGS",
        "RERAISE",
        "RETURN_CONST",
        "RETURN_VALUE",
    )
    if name in OPS
)
_READS = frozenset(
    OPS[name]
    for name in ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "DELETE_FAST")
    if name in OPS
)


_observed: ByIdentity[types.CodeType, bool] = ByIdentity()


def observe(code: types.CodeType) -> None:
    """Has all locals of some code be live: what it calls may look at them."""
    _observed.set(code, True)


def is_observed(code: types.CodeType) -> bool:
    """Whether all locals of some code are known to be live."""
    return bool(_observed.get(code)) or not _OBSERVERS.isdisjoint(code.co_names)


def live_locals(code: types.CodeType) -> list[frozenset[str]]:
    """For each instruction, the locals that may be read before they are bound anew.

    Deleting counts as reading, since an unbound local raises there. Names that are
    cells are left out: cells are passed as such. Handlers are followed. In code that
    may look at its own locals as a whole all of them are live, and in that which calls
    what may.
    """
    return _all_locals(code) if is_observed(code) else _read_locals(code)


@per_code
def _all_locals(code: types.CodeType) -> list[frozenset[str]]:
    names = frozenset(code.co_varnames).difference(code.co_cellvars)
    return [names] * len(decode(code))


@per_code
def _read_locals(code: types.CodeType) -> list[frozenset[str]]:
    instructions = decode(code)
    masks = _solve(code, instructions)
    always = _read_by_super(code)
    sets = {mask: _names_in(mask | always, code) for mask in set(masks)}
    return [sets[mask] for mask in masks]


def _read_by_super(code: types.CodeType) -> int:
    """``super()`` without arguments reads the first argument from the frame."""
    return 1 if "super" in code.co_names and "__class__" in code.co_freevars else 0


def _names_in(mask: int, code: types.CodeType) -> frozenset[str]:
    names = enumerate(code.co_varnames)
    cells = code.co_cellvars
    return frozenset(name for i, name in names if mask >> i & 1 and name not in cells)


def _solve(code: types.CodeType, instructions: list[Instruction]) -> list[int]:
    """The masks of live locals, by going backwards until nothing changes."""
    count = len(instructions)
    index_at = {ins.offset: i for i, ins in enumerate(instructions)}
    effects = [_effect(ins) for ins in instructions]
    jumps = [index_at[i.target()] if i.op in JUMPS else count for i in instructions]
    handlers = _handler_of_each(code, instructions, index_at)
    live = [0] * (count + 1)  # the last one stands for "nowhere"
    changed = True
    while changed:
        changed = False
        for i in range(count - 1, -1, -1):
            reads, binds = effects[i]
            after = live[jumps[i]]
            if instructions[i].op not in _ENDS:
                after |= live[i + 1]
            before = reads | after & ~binds | live[handlers[i]]
            if before != live[i]:
                live[i] = before
                changed = True
    return live[:count]


def _handler_of_each(
    code: types.CodeType, instructions: list[Instruction], index_at: dict[int, int]
) -> list[int]:
    found = [len(instructions)] * len(instructions)
    for handler in handlers_of(code):
        target = index_at[2 * handler.target]
        for i, instruction in enumerate(instructions):
            if handler.start <= instruction.offset // 2 < handler.end:
                found[i] = target
    return found


def _effect(instruction: Instruction) -> tuple[int, int]:
    """Masks of the locals that an instruction reads, and that it binds."""
    op, arg, _, _ = instruction
    if op in _READS:
        return 1 << arg, 0
    if op == OPS["STORE_FAST"]:
        return 0, 1 << arg
    if op not in PAIRED:
        return 0, 0
    first, second = 1 << (arg >> 4), 1 << (arg & 15)
    if instruction.name == "LOAD_FAST_LOAD_FAST":
        return first | second, 0
    if instruction.name == "STORE_FAST_STORE_FAST":
        return 0, first | second
    return second & ~first, first  # STORE_FAST_LOAD_FAST
