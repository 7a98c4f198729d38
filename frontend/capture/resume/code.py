"""Code that continues a frame: resume, step and generator code.

Each is the original code with a prologue before it that takes the frame as
arguments (``layout.arguments``), restores it, and goes to an instruction. Everything
else is the original's: name, file, globals, lines, locals, handlers, body.
"""

from __future__ import annotations

import inspect
import types

from girih.frontend.capture.resume.builder import Builder
from girih.frontend.capture.resume.instructions import (
    Instruction,
    decode,
    decode_bytes,
    unit_around,
)
from girih.frontend.capture.resume.layout import Layout
from girih.frontend.capture.resume.origin import Origin, made, original_position
from girih.frontend.capture.resume.stack_effect import CannotStep

_ASYNCHRONOUS = (
    inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
)
# How much higher than in the body the stack gets: a call of inner, an exception's pair.
_PROLOGUE_DEPTH = 4


def resume_code(
    code: types.CodeType,
    index: int,
    layout: Layout,
    *,
    calls: int | None = None,
    shown: int | None = None,
) -> types.CodeType:
    """Code that restores a frame and goes on at an instruction.

    Args:
        code: The code of the frame: the original, or what was made from it.
        index: Index of the instruction, as ``dis.get_instructions`` counts.
        layout: What is alive there; with ``calls``, without what the call pushes.
        calls: Index of a call whose callee goes on. The code then takes two more
            arguments, ``inner`` and ``inner_args``, and first pushes
            ``inner(*inner_args)``, as if it were that call: with its handlers.
        shown: Index of the instruction that tracebacks show while ``inner`` runs;
            None for the call.

    Raises:
        CannotStep: The frame can't be restored.
    """
    call = None if calls is None else original_position(code, calls)[1]
    code, index = normal_position(code, index)
    check_kind(code, is_generator=False)
    key = ("resume", index, layout, call, shown)
    return made(code, key, lambda: _make_resume(code, index, layout, call, shown))


def generator_code(
    code: types.CodeType, index: int, layout: Layout, started: bool
) -> types.CodeType:
    """Code that makes a generator whose frame is as given.

    Args:
        code: The code of the generator: the original, or what was made from it.
        index: Index of an instruction.
        layout: What is alive there, below the value that is yielded or sent.
        started: Whether the first ``next()`` runs to the YIELD_VALUE at ``index``,
            which yields None: so the generator is suspended there. Otherwise the
            first ``next()`` begins at ``index`` with what is sent (None).

    Raises:
        CannotStep: The frame can't be restored, or is not that of a generator.
    """
    code, index = normal_position(code, index)
    check_kind(code, is_generator=True)
    if started and decode(code)[index].name != "YIELD_VALUE":
        raise CannotStep("the generator is not suspended at a yield")
    key = ("generator", index, layout)
    return made(code, key, lambda: _make_generator(code, index, layout))


def normal_position(code: types.CodeType, index: int) -> tuple[types.CodeType, int]:
    """The original of an instruction, from its first prefix on."""
    code, index = original_position(code, index)
    return code, unit_around(decode(code), index)[0]


def check_kind(code: types.CodeType, is_generator: bool) -> None:
    """Refuses code of another kind.

    Raises:
        CannotStep: The code is asynchronous; or a generator's where it must not be.
    """
    if code.co_flags & _ASYNCHRONOUS:
        raise CannotStep("the code is asynchronous")
    if bool(code.co_flags & inspect.CO_GENERATOR) != is_generator:
        verb = "does not belong" if is_generator else "belongs"
        raise CannotStep(f"the code {verb} to a generator")


def _make_resume(
    code: types.CodeType,
    index: int,
    layout: Layout,
    call: int | None,
    shown: int | None,
) -> tuple[types.CodeType, Origin]:
    instructions = decode(code)
    standing = index
    more = ()
    if call is not None:
        standing = unit_around(instructions, call)[1]
        more = (".inner", ".inner_args")
    offset = instructions[standing if shown is None else shown].offset
    builder = Builder(code, layout, offset, more)
    builder.enter()
    builder.restore_variables()
    builder.restore_stack()
    if call is not None:
        _call_inner(builder, instructions[standing])
    moment = len(decode_bytes(builder.data)) - (call is not None)
    builder.jump(instructions[index].offset)
    new = builder.finish(_PROLOGUE_DEPTH)
    return new, builder.origin("resume", standing, index, moment, call is not None)


def _call_inner(builder: Builder, call: Instruction) -> None:
    """Pushes what the callee's continuation returns, as the original call would."""
    builder.callable(lambda: builder.take(".inner"))
    builder.take(".inner_args")
    start = builder.covered()
    builder.emit("CALL_FUNCTION_EX", 0)
    builder.cover(call.offset, start)


def _make_generator(
    code: types.CodeType, index: int, layout: Layout
) -> tuple[types.CodeType, Origin]:
    target = decode(code)[index]
    builder = Builder(code, layout, target.offset)
    builder.enter(is_generator=True)
    builder.restore_variables()
    builder.restore_stack()
    builder.constant(None)
    moment = len(decode_bytes(builder.data))
    builder.jump(target.offset)
    new = builder.finish(_PROLOGUE_DEPTH)
    return new, builder.origin("generator", index, index, moment)
