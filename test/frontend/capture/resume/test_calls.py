"""Frames that wait for the result of a call."""

import copy
import functools

import frame_programs
import pytest
from frame_driver import (
    PROGRAM_IDS,
    Tail,
    function_of,
    observe,
    places,
    stop,
    stops_of,
)
from frame_programs import PROGRAMS

from girih.frontend.capture.resume import step
from girih.frontend.capture.resume.arguments import arguments
from girih.frontend.capture.resume.code import resume_code
from girih.frontend.capture.resume.instructions import decode, unit_around
from girih.frontend.capture.resume.layout import Layout, Slot
from girih.frontend.capture.resume.origin import origin_of, original_position

CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX")


@pytest.fixture(autouse=True)
def _tail(monkeypatch):
    monkeypatch.setattr(step, "_tail_type", lambda: Tail)


def call_of(code, index, layout, values):
    """What a call at which a frame stands calls, and the frame without it."""
    instructions = decode(code)
    first, last = unit_around(instructions, index)
    call = instructions[last]
    height = step.reach_of(call)
    below = len(layout.stack) - height
    kept = Layout(layout.locals, layout.cells, layout.stack[:below])
    count = sum(slot is not Slot.NULL for slot in layout.stack[below:])
    operands = values[len(values) - count :]
    return kept, values[: len(values) - count], bound_call(code, call, first, operands)


def bound_call(code, call, first, operands):
    callee, *args = operands
    names = ()
    if call.name == "CALL_FUNCTION_EX":
        return callee, tuple(args[0]), dict(args[1]) if len(args) > 1 else {}
    if call.name == "CALL_KW":
        names = args.pop()
    instruction = next(i for i in decode(code)[first:] if i.name != "EXTENDED_ARG")
    if instruction.name == "KW_NAMES":
        names = code.co_consts[instruction.arg]
    split = len(args) - len(names)
    return callee, tuple(args[:split]), dict(zip(names, args[split:], strict=True))


def waits(function, args, kwargs, index, layout, run):
    """Stops before a call and goes on as a frame that waits for it."""
    code = function.__code__
    stopped = stop(function, copy.deepcopy(args), kwargs, index, layout)
    _, last = unit_around(decode(code), index)
    kept, values, (callee, inner_args, named) = call_of(
        code, index, layout, stopped.arguments
    )
    inner = functools.partial(callee, **named) if named else callee
    made = resume_code(code, last + 1, kept, calls=last)
    return run(function, made, kept, values, inner, inner_args)


def natively(function, made, kept, values, inner, inner_args):
    return function_of(made, function)(*values, inner, inner_args)


def by_step_of_the_call(function, made, kept, values, inner, inner_args):
    """As where the call of ``inner`` is itself what can't be captured."""
    index = origin_of(made).moment
    pushed = [Slot.VALUE, Slot.VALUE]
    pushed.insert(0 if step.NULL_IS_FIRST else 1, Slot.NULL)
    layout = Layout(kept.locals, kept.cells, (*kept.stack, *pushed))
    stepped = step.step_code(made, index, layout)
    (arrival,) = stepped.arrivals
    code = resume_code(function.__code__, arrival.index, arrival.layout)
    on = function_of(code, function)
    tail = function_of(stepped.code, function)(*values, inner, inner_args, on)
    return tail.function(*tail.args) if isinstance(tail, Tail) else tail


@pytest.mark.parametrize("run", [natively, by_step_of_the_call])
@pytest.mark.parametrize(("function", "args", "kwargs"), PROGRAMS, ids=PROGRAM_IDS)
def test_waits_for_each_call(function, args, kwargs, run):
    code = function.__code__
    expected = observe(lambda: function(*copy.deepcopy(args), **kwargs))
    for index, layout in stops_of(function, args, kwargs).items():
        _, last = unit_around(decode(code), index)
        if decode(code)[last].name in CALLS and not _looks_at_its_caller(code, index):
            ran = observe(lambda: waits(function, args, kwargs, index, layout, run))  # noqa: B023
            assert ran == expected, index


def _looks_at_its_caller(code, index):
    """``locals()`` and the like, ``super()``: what is called must be called here."""
    return {"locals", "super"} & {*code.co_names} and code.co_name in (
        "own_locals",
        "cell_arguments",
        "wide",
        "method",
    )


def _raising():
    return [1][2]


def waiting_frame():
    try:
        return _raising()
    except IndexError as error:
        frame_programs.handled()
        return error


def test_tracebacks_go_through_the_waiting_frame():
    code = waiting_frame.__code__
    first = next(i for i, ins in enumerate(decode(code)) if ins.name == "CALL")
    made = resume_code(code, first + 1, Layout(), calls=first)
    error = function_of(made, waiting_frame)(None, _raising, ())
    tb = error.__traceback__
    line = code.co_firstlineno + 2
    assert tb.tb_lineno == line
    assert tb.tb_next.tb_frame.f_code is _raising.__code__
    where = list(made.co_positions())[tb.tb_lasti // 2]
    plain = waiting_frame().__traceback__
    assert where == list(code.co_positions())[plain.tb_lasti // 2]
    assert places(tb) == []


def test_positions_of_a_waiting_frame():
    code = waiting_frame.__code__
    call = next(i for i, ins in enumerate(decode(code)) if ins.name == "CALL")
    made = resume_code(code, call + 1, Layout(), calls=call)
    origin = origin_of(made)
    assert decode(made)[origin.moment].name == "CALL_FUNCTION_EX"
    assert original_position(made, origin.moment) == (code, call)
    assert original_position(made, origin.moment + 1) == (code, call + 1)
    again = resume_code(made, origin.moment + 1, Layout(), calls=origin.moment)
    assert again is made


def test_nested_frames_nest_their_arguments():
    def outer(n):
        return 10 * inner(n) + n

    def inner(n):
        return innermost(n) + 1

    def innermost(n):
        return n * n

    def waiting(function, n):
        code = function.__code__
        call = next(i for i, ins in enumerate(decode(code)) if ins.name == "CALL")
        layout = Layout(("n",), (), (Slot.VALUE,) if function is outer else ())
        stack = [10] if function is outer else []
        values = arguments(code, layout, {"n": n}, {}, stack)
        made = resume_code(code, call + 1, layout, calls=call)
        return function_of(made, function), values

    outer_resume, outer_values = waiting(outer, 3)
    inner_resume, inner_values = waiting(inner, 3)
    result = outer_resume(*outer_values, inner_resume, (*inner_values, innermost, (3,)))
    assert result == outer(3)
