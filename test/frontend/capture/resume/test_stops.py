"""Functions that are stopped anywhere and continued do what they do anyway."""

import copy

import pytest
from frame_driver import (
    LONG,
    PROGRAM_IDS,
    Tail,
    by_steps,
    function_of,
    observe,
    stop,
    stops_of,
)
from frame_programs import PROGRAMS

from girih.frontend.capture.resume import step
from girih.frontend.capture.resume.code import resume_code
from girih.frontend.capture.resume.instructions import decode
from girih.frontend.capture.resume.stack_effect import CannotStep

programs = pytest.mark.parametrize(
    ("function", "args", "kwargs"), PROGRAMS, ids=PROGRAM_IDS
)


@pytest.fixture(autouse=True)
def _tail(monkeypatch):
    monkeypatch.setattr(step, "_tail_type", lambda: Tail)


def plainly(function, args, kwargs):
    return observe(lambda: function(*copy.deepcopy(args), **kwargs))


@programs
def test_runs_by_steps(function, args, kwargs):
    if len(decode(function.__code__)) > LONG:
        pytest.skip("it would take long")
    got = observe(lambda: by_steps(function, copy.deepcopy(args), kwargs))
    assert got == plainly(function, args, kwargs)


@programs
def test_resumes_at_each_instruction(function, args, kwargs):
    expected = plainly(function, args, kwargs)
    stops = stops_of(function, args, kwargs)
    assert len(stops) > 5

    def run(index, layout):
        stopped = stop(function, copy.deepcopy(args), kwargs, index, layout)
        code = resume_code(function.__code__, index, layout)
        return function_of(code, function)(*stopped.arguments)

    for index, layout in stops.items():
        assert observe(lambda: run(index, layout)) == expected, index  # noqa: B023


@programs
def test_steps_at_each_instruction(function, args, kwargs):
    expected = plainly(function, args, kwargs)

    def run(index, layout):
        stopped = stop(function, copy.deepcopy(args), kwargs, index, layout)
        made = step.step_code(function.__code__, index, layout)
        ways = [
            resume_code(function.__code__, a.index, a.layout) for a in made.arrivals
        ]
        ways = [function_of(code, function) for code in ways]
        tail = function_of(made.code, function)(*stopped.arguments, *ways)
        return tail.function(*tail.args) if isinstance(tail, Tail) else tail

    for index, layout in stops_of(function, args, kwargs).items():
        try:
            step.step_code(function.__code__, index, layout)
        except CannotStep as error:
            assert "leaves the frame" in str(error)
            continue
        assert observe(lambda: run(index, layout)) == expected, index  # noqa: B023
