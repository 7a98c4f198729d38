"""Step code: what is seen while the instruction runs, and what is left behind."""

import copy
import sys
import traceback
import weakref

import frame_programs
import pytest
from frame_driver import (
    LONG,
    PROGRAM_IDS,
    Tail,
    by_steps,
    entry,
    function_of,
    observe,
    plain,
    stop,
    stops_of,
)
from frame_programs import PROGRAMS
from hypothesis import given, settings
from hypothesis import strategies as st

from girih.frontend.capture.resume import step
from girih.frontend.capture.resume.code import resume_code
from girih.frontend.capture.resume.instructions import decode
from girih.frontend.capture.resume.layout import Layout, Slot
from girih.frontend.capture.resume.origin import origin_of
from girih.frontend.capture.resume.stack_effect import CANNOT, CannotStep


@pytest.fixture(autouse=True)
def _tail(monkeypatch):
    monkeypatch.setattr(step, "_tail_type", lambda: Tail)


def test_locals_show_nothing_else():
    def f(a, b=2):
        seen = [locals()]
        for i in range(2):
            with frame_programs.region([], "r"):
                seen.append(dict(locals(), seen=None))
            try:
                seen += [(i, sorted(sys._getframe().f_locals))]
            finally:
                kept = i
        return seen[1:], kept

    assert plain(by_steps(f, (1,), {})) == plain(f(1))


class Named:
    pass


def test_what_is_deleted_dies():
    def f():
        thing = Named()
        ghost = weakref.ref(thing)
        before = ghost() is None
        del thing
        return before, ghost() is None

    assert by_steps(f, (), {}) == (False, True)


def test_arguments_are_not_held_by_the_code():
    def f(thing, ghost):
        del thing
        return ghost() is None

    def stepwise(index, layout, thing):
        made = step.step_code(f.__code__, index, layout)
        return function_of(made.code, f)(thing, weakref.ref(thing), 0)

    first = entry(f, (1, 2), {})
    tail = stepwise(first.index, first.layout, Named())
    assert tail.args[0] is not None or "thing" not in tail.args
    index = next(i for i, ins in enumerate(decode(f.__code__)) if "DELETE" in ins.name)
    tail = stepwise(index, first.layout, Named())
    assert tail.args[0] is None and tail.args[1]() is None


def test_an_exception_that_is_handled_is_so_again():
    def f():
        try:
            raise KeyError(1)
        except KeyError:
            frame_programs.handled()
            raise ValueError(2)  # noqa: B904

    stops = stops_of(f, (), {})
    index = max(i for i, layout in stops.items() if Slot.PREVIOUS in layout.stack)
    moments = [i for i, at in stops.items() if Slot.PREVIOUS in at.stack]
    for index in moments:
        stopped = stop(f, (), {}, index, stops[index])
        made = function_of(resume_code(f.__code__, index, stops[index]), f)
        assert sys.exc_info()[1] is None
        with pytest.raises(ValueError) as caught:
            made(*stopped.arguments)
        assert repr(caught.value.__context__) == "KeyError(1)"
        assert sys.exc_info()[1] is None


def test_the_text_of_a_traceback():
    def f(x):
        for i in range(3):
            x = (x,
                 10 // (1 - i))  # fmt: skip
        return x

    def text(run):
        try:
            run()
        except ZeroDivisionError as error:
            lines = traceback.format_exception(error)
            return "".join(line for line in lines if "in f\n" in line)

    expected = text(lambda: f(1))
    assert expected
    assert text(lambda: by_steps(f, (1,), {})) == expected


def test_an_instruction_that_always_raises_arrives_nowhere():
    def f(error):
        raise error

    index = next(i for i, ins in enumerate(decode(f.__code__)) if "RAISE" in ins.name)
    made = step.step_code(f.__code__, index, Layout((), (), (Slot.VALUE,)))
    assert made.arrivals == ()
    with pytest.raises(KeyError) as caught:
        function_of(made.code, f)(None, KeyError(7))
    assert caught.traceback[-1].lineno == f.__code__.co_firstlineno


def test_locals_that_are_held_stay_bound():
    def f(a, b):
        g(b)  # noqa: F821
        return None

    call = next(i for i, ins in enumerate(decode(f.__code__)) if ins.name == "CALL")
    stack = [Slot.VALUE, Slot.VALUE]
    stack.insert(0 if step.NULL_IS_FIRST else 1, Slot.NULL)
    for held in ((), ("a",)):
        layout = Layout(("a", "b"), (), tuple(stack), held)
        (arrival,) = step.step_code(f.__code__, call, layout).arrivals
        assert arrival.layout.locals == held


def test_both_ways_of_a_jump_are_arrivals():
    def f(flag):
        return 1 if flag else 2

    jump = next(i for i, ins in enumerate(decode(f.__code__)) if "_IF_" in ins.name)
    layout = Layout((), (), (Slot.VALUE,))
    made = step.step_code(f.__code__, jump, layout)
    run = function_of(made.code, f)
    assert len(made.arrivals) == 2
    assert run(None, True, "next", "target").function == "next"
    assert run(None, False, "next", "target").function == "target"


@pytest.mark.parametrize("name", ["RETURN_VALUE", "RESUME"])
def test_what_can_not_be_stepped_says_why(name):
    def f(a):
        return a

    index = next(i for i, ins in enumerate(decode(f.__code__)) if ins.name == name)
    with pytest.raises(CannotStep, match=f"{name}: {CANNOT[name]}"):
        step.step_code(f.__code__, index, Layout(("a",), (), (Slot.VALUE,)))


def test_more_variables_than_fit_into_one_byte():
    crossing = next(f for f, _, _ in PROGRAMS if f.__name__ == "crossing")
    first = entry(crossing, (3,), {})
    layout = Layout((), first.layout.cells, (Slot.VALUE,) * 8)
    made = resume_code(crossing.__code__, first.index, layout)
    origin = origin_of(made)
    assert origin.indices is not None  # the body was written anew
    new, old = decode(made)[origin.prologue :], decode(crossing.__code__)
    for instruction, index in zip(new, origin.indices, strict=True):
        if instruction.name != "EXTENDED_ARG":
            assert instruction.op == old[index].op
    again = resume_code(made, origin.prologue, Layout())
    assert origin_of(again).target == origin.indices[0]


def test_pairs_of_variables_that_no_longer_fit():
    def f(a, b, c, d, e, g, h, i, j, k):
        x, y = a, b

        def both():
            return x, y

        x, y = y, x
        return both(), c + d + e + g + h + i + j + k

    numbers = tuple(range(10))
    assert by_steps(f, numbers, {}) == f(*numbers)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_stops_and_steps_at_random(data):
    """A program is stopped, runs some steps, and goes on natively."""
    programs = enumerate(PROGRAMS)
    short = [i for i, (f, *_) in programs if len(decode(f.__code__)) <= LONG]
    number = data.draw(st.sampled_from(short), label="program")
    function, args, kwargs = PROGRAMS[number]
    known = stops_of(function, args, kwargs)
    index = data.draw(st.sampled_from(sorted(known)), label=PROGRAM_IDS[number])
    steps = data.draw(st.integers(0, 12), label="steps")
    expected = observe(lambda: function(*copy.deepcopy(args), **kwargs))
    got = observe(lambda: _some_steps(function, args, kwargs, index, known, steps))
    assert got == expected


def _some_steps(function, args, kwargs, index, known, steps):
    code, layout = function.__code__, known[index]
    values = stop(function, copy.deepcopy(args), kwargs, index, layout).arguments
    for _ in range(steps):
        try:
            made = step.step_code(code, index, layout)
        except CannotStep:
            break
        numbers = range(len(made.arrivals))
        tail = function_of(made.code, function)(*values, *numbers)
        if not isinstance(tail, Tail):
            return tail
        arrival = made.arrivals[tail.function]
        index, layout, values = arrival.index, arrival.layout, tail.args
    return function_of(resume_code(code, index, layout), function)(*values)


def test_the_tail_is_that_of_the_dispatcher(monkeypatch):
    frame = pytest.importorskip("girih.frontend.capture._frame")
    monkeypatch.undo()

    def f(a):
        return len(a)

    call = next(i for i, ins in enumerate(decode(f.__code__)) if ins.name == "CALL")
    stack = [Slot.VALUE, Slot.VALUE]
    stack.insert(0 if step.NULL_IS_FIRST else 1, Slot.NULL)
    made = step.step_code(f.__code__, call, Layout((), (), tuple(stack)))
    tail = function_of(made.code, f)(None, len, "abc", f)
    assert isinstance(tail, frame.Tail)
    assert (tail.function, tail.args, bool(tail.plain)) == (f, (None, 3), False)
