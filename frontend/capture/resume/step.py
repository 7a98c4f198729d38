"""Step code: one instruction of a frame, run natively, then a tail call.

The instruction is copied into the prologue, under the handlers that cover the original
one. So an exception goes on natively in the body, to the end of the function; anything
else ends in a ``Tail`` to the resume function of where the instruction arrived.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, replace

from girih.frontend.capture.resume.body import moved_pieces
from girih.frontend.capture.resume.builder import Builder
from girih.frontend.capture.resume.code import check_kind, normal_position
from girih.frontend.capture.resume.instructions import (
    INDEXED,
    JUMPS,
    OPS,
    PAIRED,
    Instruction,
    decode,
    decode_bytes,
    encode,
    unit_around,
)
from girih.frontend.capture.resume.layout import Layout, Slot
from girih.frontend.capture.resume.liveness import live_locals
from girih.frontend.capture.resume.origin import Origin, made, origin_of
from girih.frontend.capture.resume.stack_effect import (
    ALWAYS_JUMPS,
    LOOP_END,
    NULL_IS_FIRST,
    PUSHES_NULL,
    Outcome,
    outcomes,
    reach_of,
)
from girih.frontend.capture.resume.tables import handler_at, handlers_of


@dataclass(frozen=True)
class Arrival:
    """Where a frame is after an instruction.

    Attributes:
        index: Index of the next instruction, in the original code.
        layout: What is alive there; what the resume function is called with.
    """

    index: int
    layout: Layout


@dataclass(frozen=True)
class Step:
    """Step code.

    Attributes:
        code: Takes the frame, then one resume function for each arrival.
        arrivals: Where it can arrive; none where it always raises.
    """

    code: types.CodeType
    arrivals: tuple[Arrival, ...]


def step_code(code: types.CodeType, index: int, layout: Layout) -> Step:
    """Code that restores a frame, runs one instruction, and makes a tail call.

    What a load of a method pushes is not known beforehand, so it is run as the plain
    load, and the NULL is pushed on arrival.

    Args:
        code: The code of the frame: the original, or what was made from it.
        index: Index of the instruction, as ``dis.get_instructions`` counts; of a call
            that of KW_NAMES, PRECALL or CALL. In resume code it may be the call of
            ``inner``.
        layout: What is alive there.

    Raises:
        CannotStep: The instruction makes sense only in a frame of its own.
    """
    origin = origin_of(code)
    if origin is not None and origin.calls and index == origin.moment:
        plan = _Plan.of_inner(origin, layout)
    else:
        plan = _Plan.of(*normal_position(code, index), layout)
    check_kind(plan.code, is_generator=False)
    key = ("step", plan.instruction, plan.first, plan.arrivals, layout)
    new = made(plan.code, key, lambda: _make_step(plan))
    return Step(new, plan.arrivals)


@dataclass(frozen=True)
class _Plan:
    """What step code is to do.

    Attributes:
        code: The original code.
        unit: The instruction with its prefixes.
        first: Its index.
        layout: The frame before it.
        outcomes: How it can end.
        arrivals: Where it then is, for each outcome.
    """

    code: types.CodeType
    unit: tuple[Instruction, ...]
    first: int
    layout: Layout
    outcomes: tuple[Outcome, ...]
    arrivals: tuple[Arrival, ...]

    @classmethod
    def of(cls, code: types.CodeType, first: int, layout: Layout) -> _Plan:
        """The instruction whose first prefix stands at an index."""
        instructions = decode(code)
        _, last = unit_around(instructions, first)
        ends = outcomes(code, instructions[last], layout)
        targets = [_target(instructions, last, end.jumps) for end in ends]
        arrivals = tuple(
            _arrival(code, target, end.layout)
            for target, end in zip(targets, ends, strict=True)
        )
        unit = tuple(instructions[first : last + 1])
        return cls(code, unit, first, layout, ends, arrivals)

    @classmethod
    def of_inner(cls, origin: Origin, layout: Layout) -> _Plan:
        """The call of ``inner`` in resume code, in the place of the original call."""
        code, first, target = origin.code, origin.standing, origin.target
        offset = decode(code)[first].offset
        call = Instruction(OPS["CALL_FUNCTION_EX"], 0, offset, offset + 2)
        ends = outcomes(code, call, layout)
        arrivals = tuple(_arrival(code, target, end.layout) for end in ends)
        return cls(code, (call,), first, layout, ends, arrivals)

    @property
    def instruction(self) -> Instruction:
        """The instruction itself."""
        return self.unit[-1]


def _target(instructions: list[Instruction], index: int, jumps: bool) -> int:
    if not jumps:
        return index + 1
    offset = instructions[index].target()
    target = next(i for i, ins in enumerate(instructions) if ins.offset == offset)
    return target + len(LOOP_END) * (instructions[index].name == "FOR_ITER")


def _arrival(code: types.CodeType, target: int, layout: Layout) -> Arrival:
    live = live_locals(code)[target].union(code.co_cellvars, layout.held)
    kept = tuple(name for name in layout.locals if name in live)
    return Arrival(target, replace(layout, locals=kept))


def _make_step(plan: _Plan) -> tuple[types.CodeType, Origin]:
    resumes = [f".resume.{i}" for i in range(len(plan.arrivals))]
    highest = max((len(a.layout.stack) for a in plan.arrivals), default=0)
    offset = plan.instruction.offset
    builder = Builder(plan.code, plan.layout, offset, resumes, highest)
    place = _hiding_place(plan)
    builder.enter()
    builder.restore_variables()
    builder.restore_stack([] if place is None else resumes, place or 0)
    ends = [
        builder.detached(lambda i=i: _end(builder, plan, i, resumes, place))
        for i in range(len(plan.arrivals))
    ]
    start = builder.covered()
    _copy(builder, plan, len(ends[0]) // 2 if ends else 0)
    builder.cover(offset, start)
    moment = len(decode_bytes(builder.data)) - 1
    _append(builder, plan, ends)
    arguments = len(plan.code.co_varnames) + len(plan.layout.cells) + highest
    new = builder.finish(depth=arguments + len(resumes) + 8)
    standing = plan.first + len(plan.unit) - 1
    return new, builder.origin("step", standing, standing, moment)


def _hiding_place(plan: _Plan) -> int | None:
    """Where on the stack the resume functions are while the instruction runs.

    In a local ``locals()`` would show them. They may lie anywhere above what the
    handler leaves on the stack and below what the instruction looks at; where there is
    no such place (no instruction that runs other code has none but WITH_EXCEPT_START)
    they stay locals.
    """
    handler = handler_at(handlers_of(plan.code), plan.instruction.offset // 2)
    place = len(plan.layout.stack) - reach_of(plan.instruction)
    return place if place >= (handler.depth if handler else 0) else None


def _copy(builder: Builder, plan: _Plan, distance: int) -> None:
    """The instruction; where it jumps, it jumps over ``distance`` code units."""
    for prefix in plan.unit[:-1]:
        if prefix.name != "EXTENDED_ARG":
            builder.emit(prefix.name, prefix.arg)
    op, arg, _, _ = plan.instruction
    name = plan.instruction.name
    if name in ALWAYS_JUMPS:
        return
    if op in JUMPS:
        builder.emit(name.replace("BACKWARD", "FORWARD"), distance)
    elif op in INDEXED or op in PAIRED:
        for piece in moved_pieces(plan.instruction, builder.moved):
            builder.append(encode(*piece))
    elif _is_method_load(plan.instruction):
        builder.emit(
            _PLAIN_LOAD.get(name, name), arg if name in _PLAIN_LOAD else arg & ~1
        )
    else:
        builder.emit(name, arg)


_PLAIN_LOAD = {"LOAD_METHOD": "LOAD_ATTR"}


def _is_method_load(instruction: Instruction) -> bool:
    name = instruction.name
    return name == "LOAD_METHOD" or name in PUSHES_NULL and bool(instruction.arg & 1)


def _append(builder: Builder, plan: _Plan, ends: list[bytes]) -> None:
    """The ways on, the second one after what FOR_ITER skips at its target."""
    for number, end in enumerate(ends):
        if number == 1 and plan.instruction.name == "FOR_ITER":
            for name in LOOP_END:
                builder.emit(name)
        builder.append(end)


def _end(
    builder: Builder, plan: _Plan, number: int, resumes: list[str], place: int | None
) -> None:
    """Takes the frame apart and returns the tail call of a resume function."""
    layout = plan.arrivals[number].layout
    _save_stack(builder, plan, layout, resumes, place)
    for name in resumes[:number] + resumes[number + 1 :]:
        builder.fast("DELETE", name)
    builder.callable(lambda: builder.constant(_tail_type()))
    builder.take(resumes[number])
    builder.emit("BUILD_TUPLE", _load_frame(builder, layout))
    builder.constant(False)
    builder.call(3)
    builder.emit("RETURN_VALUE")


def _save_stack(
    builder: Builder, plan: _Plan, layout: Layout, resumes: list[str], place: int | None
) -> None:
    """Pops the whole stack into locals that are no arguments."""
    held: list[tuple[Slot, str]] = list(
        zip(layout.stack, builder.scratch, strict=False)
    )
    if _is_method_load(plan.instruction):
        del held[-2 if NULL_IS_FIRST else -1]
    if place is not None:
        held[place:place] = [(Slot.VALUE, name) for name in resumes]
    for slot, name in reversed(held):
        builder.save_slot(slot, name)


def _load_frame(builder: Builder, layout: Layout) -> int:
    """Pushes the arguments for the resume function; returns how many."""
    names = builder.code.co_varnames
    for name in names:
        if name in layout.locals:
            builder.fast("LOAD", name)
        else:
            builder.constant(None)
    for name in layout.cells:
        builder.emit("LOAD_FAST", builder.place_of(name))
    for slot, name in zip(layout.stack, builder.scratch, strict=False):
        if slot is not Slot.NULL:
            builder.take(name)
    return len(names) + len(layout.cells) + layout.passed()


def _tail_type() -> type:
    from girih.frontend.capture import _frame

    return _frame.Tail
