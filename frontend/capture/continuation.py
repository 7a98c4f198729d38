"""How a segment that ends at a break goes on: a tail call made of the frames' state.

The frame that breaks becomes a call of a step function, which runs the one instruction
as Python and hands on to a resume function. Frames around it become resume functions
that first call the one inside.
"""

from __future__ import annotations

import ast
import types

from girih.errors import unsupported
from girih.frontend.capture import _frame
from girih.frontend.capture.frame import Frame, OffsetValue, plan_of
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.readers import prepare_frame
from girih.frontend.capture.rebuilding.code import call, tuple_of
from girih.frontend.capture.resume.arguments import arguments
from girih.frontend.capture.resume.code import resume_code
from girih.frontend.capture.resume.layout import Layout, Slot
from girih.frontend.capture.resume.liveness import live_locals
from girih.frontend.capture.resume.origin import in_prologue, original_position
from girih.frontend.capture.resume.stack_effect import CannotStep
from girih.frontend.capture.resume.step import step_code
from girih.frontend.capture.values.base import NULL, Raised, Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.exception import ExceptionValue, PreviousException
from girih.frontend.capture.values.iterator import GeneratorValue
from girih.frontend.capture.values.module import ModuleValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.outside import OutsideValue


def tail_of(rebuilder, frames: list[Frame]) -> ast.expr:
    """The tail call that goes on where the frames stand.

    Args:
        rebuilder: Writes the values.
        frames: The frames, outermost first; the last is about to run the instruction
            that can't be captured, each other one waits for the next one's result.
    """
    try:
        return _tail_of(rebuilder, frames)
    except CannotStep as error:
        unsupported(
            kind="an instruction at which no break is possible",
            context=str(error),
            explanation="Python can run the instruction only in its own frame.",
        )


def _tail_of(rebuilder, frames: list[Frame]) -> ast.expr:
    *outer, inner = frames
    step, step_args = _step(rebuilder, inner)
    if not outer:
        return _tail(rebuilder, step, step_args)
    waiting = [_waiting(rebuilder, frame) for frame in reversed(outer)]
    args = [step, step_args, tuple_of(waiting)]
    return _tail(rebuilder, rebuilder.constant(run_inside), tuple_of(args))


def _tail(rebuilder, function: ast.expr, args: ast.expr) -> ast.expr:
    tail = rebuilder.constant(_frame.Tail)
    return call(tail, function, args, ast.Constant(True))


def _step(rebuilder, frame: Frame) -> tuple[ast.expr, ast.expr]:
    """The step function of a frame and its arguments."""
    if in_prologue(frame.code, frame.next):
        raise CannotStep("the frame is not restored yet")
    position = original_position(frame.code, frame.next)
    layout, args = state_of(rebuilder, frame, *position)
    step = step_code(frame.code, frame.next, layout)
    for arrival in step.arrivals:
        code = resume_code(position[0], arrival.index, arrival.layout)
        args.append(function_of(rebuilder, frame, code))
    return function_of(rebuilder, frame, step.code), tuple_of(args)


def _waiting(rebuilder, frame: Frame) -> ast.expr:
    """``(resume function, arguments)`` of a frame that waits for a call's result."""
    code, calls = original_position(frame.code, frame.next - 1)
    index = original_position(frame.code, frame.next)[1]
    layout, args = state_of(rebuilder, frame, code, index, calls)
    made = resume_code(code, index, layout, calls=calls)
    return tuple_of([function_of(rebuilder, frame, made), tuple_of(args)])


def state_of(
    rebuilder, frame: Frame, code, index: int, calls: int | None = None
) -> tuple[Layout, list]:
    """What of a frame is alive, and the arguments that carry it.

    Args:
        rebuilder: Writes the values.
        frame: The frame.
        code: Its original code.
        index: Where it goes on.
        calls: The call that it waits for, whose handlers may read more.
    """
    prepare_frame(frame)
    live = live_locals(code)[index] - set(code.co_cellvars)
    if calls is not None:
        live |= live_locals(code)[calls] - set(code.co_cellvars)
    write = rebuilder.expression
    slots = list(_slots(frame))
    stack = [write(value) for _, value in slots if value is not NULL]
    cells = {n: write(frame.cells[n]) for n in code.co_cellvars if n in frame.cells}
    held = _held(rebuilder, frame)
    names = [n for n in code.co_varnames if n in frame.locals and n in live | held]
    layout = Layout(
        tuple(names),
        tuple(cells),
        tuple(slot for slot, _ in slots),
        tuple(name for name in names if name in held),
    )
    values = {name: write(frame.locals[name]) for name in names}
    args = arguments(code, layout, values, cells, stack, absent=ast.Constant(None))
    return layout, args


def _held(rebuilder, frame: Frame) -> set[str]:
    """Locals that keep an object alive which may do something when it dies.

    Tensors, plain data and modules do not; they go as soon as nothing reads them. Nor
    do objects that were made while tracing, until Python gets to see them.
    """
    return {n for n, v in frame.locals.items() if _may_do_something(rebuilder, v)}


def _may_do_something(rebuilder, value: Value) -> bool:
    if rebuilder.holds_watched(value):
        return True
    if isinstance(value, GeneratorValue):
        return value.needs_closing
    if value.source is None and rebuilder.made(value) is None:
        return False
    is_object = isinstance(value, (ObjectValue, OutsideValue))
    return is_object and not isinstance(value, (ModuleValue, ExceptionValue))


def _slots(frame: Frame):
    """Yields what each slot of the stack is, and the value that restores it."""
    handled = iter(frame.handled)
    for value in frame.stack:
        if value is NULL:
            yield Slot.NULL, NULL
        elif isinstance(value, OffsetValue):
            yield Slot.OFFSET, Constant(_original_offset(frame, value.offset))
        elif isinstance(value, PreviousException):
            exception = next(handled, None)
            if exception is None:  # POP_EXCEPT has restored what it saved
                yield Slot.VALUE, Constant(None)
            else:
                yield Slot.PREVIOUS, exception
        else:
            yield Slot.VALUE, value


def _original_offset(frame: Frame, offset: int) -> int:
    """Where an instruction stands in the user's code, in code units."""
    code, index = original_position(frame.code, frame.plan.index[offset])
    return plan_of(code).instructions[index].offset // 2


def function_of(rebuilder, frame: Frame, code: types.CodeType) -> ast.expr:
    """A function of some code that shares the frame's globals and free variables."""
    cells = [frame.cells[name] for name in frame.code.co_freevars]
    if not cells:
        made = types.FunctionType(code, frame.namespace, code.co_name)
        return rebuilder.constant(made)
    return call(
        rebuilder.constant(types.FunctionType),
        rebuilder.constant(code),
        rebuilder.constant(frame.namespace),
        ast.Constant(code.co_name),
        ast.Constant(None),
        tuple_of([rebuilder.expression(cell) for cell in cells]),
    )


def run_inside(step, args: tuple, waiting: tuple):
    """Runs the step of a frame that was called by others; they go on after it.

    Args:
        step: The step function.
        args: Its arguments.
        waiting: ``(resume function, arguments)`` of the frames around, innermost first.

    Returns:
        The tail call that goes on.
    """
    try:
        inner = step(*args)
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next  # without this frame
        return _around(waiting, _frame.raise_again, (error,), True)
    if type(inner) is _frame.Tail:
        return _around(waiting, inner.function, inner.args, inner.plain)
    return _around(waiting, returned, (inner,), False)


def _around(waiting: tuple, function, args: tuple, plain: bool):
    # Where the inner frames go on is part of what an outer one is captured for.
    key = [getattr(function, "__code__", None)]
    for resume, state in waiting:
        function, args = resume, (*state, function, args)
        key.append(resume.__code__)
    return _frame.Tail(function, args, plain, tuple(key))


@models(_frame.raise_again)
def _raise_again(tracer, error: Value):
    raise Raised(error, is_new=False)


def returned(value):
    """Stands for an inner frame that has returned."""
    return value
