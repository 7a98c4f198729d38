"""Generators that are taken over while suspended."""

import contextlib

import frame_programs
import pytest
from frame_driver import arguments, function_of, observe, take_over

from girih.frontend.capture.resume.code import generator_code, resume_code
from girih.frontend.capture.resume.instructions import decode
from girih.frontend.capture.resume.layout import Layout
from girih.frontend.capture.resume.stack_effect import CannotStep
from girih.frontend.capture.resume.step import step_code


def loops(log, n):
    total = 0
    for i in range(n):
        for j in (1, 2):
            got = yield i * j
            if got:
                log.append(got)
            total += j
    return total


def cleans_up(log, n):
    try:
        for i in range(n):
            yield i * n
    except KeyError as error:
        log.append(repr(error))
        yield "caught", frame_programs.handled()
        log.append(frame_programs.handled())
        yield "again"
    finally:
        log.append("finally")
    log.append(frame_programs.handled())


def with_region(log, n):
    with frame_programs.region(log, "a", KeyError) as name:
        for i in range(n):
            with frame_programs.region(log, i):
                yield name, i
    yield "after"


def delegates(log, n):
    first = yield from loops(log, n)
    log.append(first)
    try:
        second = yield from cleans_up(log, 2)
    except ValueError:
        second = "value error"
    return first, second


def captures(log, n):
    base = n

    def add(i):
        nonlocal base
        base += i
        return base

    for i in range(n):
        yield add(i)
        log.append(base)
    yield [x + base for x in range(2)]
    yield lambda: (i, base)


def own_locals(log, n):
    before = 1
    yield sorted(locals())
    after = 2
    yield sorted(locals()), before, after


GENERATORS = [loops, cleans_up, with_region, delegates, captures, own_locals]

# What is done to a generator: send a value, raise an exception in it, close it.
PLANS = {
    "next": [None] * 12,
    "send": [None, "a", "b", None, "c"] + [None] * 4,
    "throw": [None, None, KeyError("thrown"), None, None, None, None],
    "throw twice": [None, KeyError(1), ValueError(2), None, None],
    "throw late": [None] * 3 + [ValueError("late"), None],
    "close": [None, None, "close", None],
}


def drive(generator, log, plan):
    seen = []
    for action in plan:
        if action == "close":
            with contextlib.suppress(RuntimeError):
                generator.close()
        elif isinstance(action, Exception):
            seen.append(observe(lambda: generator.throw(action)))  # noqa: B023
        else:
            seen.append(observe(lambda: generator.send(action)))  # noqa: B023
    return seen, list(log)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("function", GENERATORS)
def test_taken_over_at_each_yield(function, plan):
    def fresh():
        log = []
        return function(log, 3), log

    expected = drive(*fresh(), plan)
    kept = []  # the generators that were left: closing them would run their finally
    for moment in range(1, len(plan)):
        generator, log = fresh()
        before, _ = drive(generator, log, plan[:moment])
        if generator.gi_frame is None:
            break
        kept.append(generator)
        after, _ = drive(take_over(generator, function), log, plan[moment:])
        assert (before + after, log) == expected, moment


def test_one_that_has_not_begun():
    code = loops.__code__
    index = next(i for i, ins in enumerate(decode(code)) if ins.name == "POP_TOP")
    layout = Layout(("log", "n"))
    made = function_of(generator_code(code, index, layout, started=False), loops)
    log = []
    values = arguments(code, layout, {"log": log, "n": 2}, {}, ())
    assert list(made(*values)) == list(loops([], 2))
    with pytest.raises(TypeError, match="just-started"):
        made(*values).send(1)


def test_only_generators_are_generators():
    plain, generator = drive.__code__, loops.__code__
    with pytest.raises(CannotStep):
        generator_code(plain, 5, Layout(), started=False)
    with pytest.raises(CannotStep):
        generator_code(generator, 5, Layout(), started=True)
    with pytest.raises(CannotStep):
        resume_code(generator, 5, Layout())
    with pytest.raises(CannotStep):
        step_code(generator, 5, Layout())


def test_asynchronous_code_is_left_alone():
    async def waits():
        yield 1

    with pytest.raises(CannotStep, match="asynchronous"):
        generator_code(waits.__code__, 3, Layout(), started=False)


def test_code_of_a_class_body_is_left_alone():
    body = compile("class A:\n    x = 1", "a.py", "exec").co_consts[0]
    with pytest.raises(CannotStep, match="class or module"):
        resume_code(body, 2, Layout())
