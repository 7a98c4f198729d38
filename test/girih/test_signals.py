"""Signal handlers of the program wait while girih compiles."""

import os
import signal
import time
from contextlib import contextmanager

import pytest
import torch

import girih
from girih import exclusive, signals
from girih.compiler import runner, training
from girih.passes import registry


class Timeout(Exception):
    """What a handler raises."""


@contextmanager
def handled(handler, number=signal.SIGUSR1):
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        assert signal.getsignal(number) is handler
        signal.signal(number, before)


def raising(number, frame):
    raise Timeout("now")


def interrupted(monkeypatch, owner, name):
    """Has a signal come, once, when something is called."""
    original = getattr(owner, name)

    def call(*arguments, **keywords):
        monkeypatch.undo()
        os.kill(os.getpid(), signal.SIGUSR1)
        return original(*arguments, **keywords)

    monkeypatch.setattr(owner, name, call)


def test_what_a_handler_raises_arrives_at_the_call(monkeypatch):
    compiled = girih.compile(lambda x: x.sin() + 1)
    x = torch.ones(3)
    interrupted(monkeypatch, torch.Tensor, "sin")
    with handled(raising), pytest.raises(Timeout, match="now"):
        compiled(x)
    torch.testing.assert_close(compiled(x), x.sin() + 1)
    assert not girih.report(compiled).fallbacks


@pytest.mark.parametrize("stage", ["forward", "backward", "derivative"])
def test_no_stage_takes_it_for_a_failure(monkeypatch, stage):
    def step(x):
        return (x.sin() * x).sum()

    def run(function, x):
        (first,) = torch.autograd.grad(function(x), x, create_graph=stage[0] == "d")
        return torch.autograd.grad(first.sum(), x)[0] if stage[0] == "d" else first

    compiled = girih.compile(step)
    x = torch.randn(5, requires_grad=True)
    if stage == "forward":
        interrupted(monkeypatch, runner.Runner, "dump")
    elif stage == "backward":
        interrupted(monkeypatch, training._Level, "_backward_program")
    else:
        interrupted(monkeypatch, training, "make_gradient_function")
    with handled(raising), pytest.raises(Timeout):
        run(compiled, x)
    torch.testing.assert_close(run(compiled, x), run(step, x))
    assert not girih.report(compiled).fallbacks


@pytest.mark.parametrize("stage", ["tracing", "a pass"])
def test_a_handler_that_compiles_sees_real_tensors(monkeypatch, stage):
    inner = girih.compile(lambda x: x.cos() * 2, options={"fallback": False})
    results = []

    def handler(number, frame):
        results.append(inner(torch.ones(3)).tolist())

    if stage == "tracing":
        interrupted(monkeypatch, torch.Tensor, "sin")
    else:
        interrupted(monkeypatch, runner.Runner, "dump")
    compiled = girih.compile(lambda x: x.sin() + 1, options={"fallback": False})
    with handled(handler):
        compiled(torch.ones(3))
    assert results == [pytest.approx((torch.ones(3).cos() * 2).tolist())]


def test_the_interrupt_of_the_keyboard_does_not_wait():
    reached = []

    def backend(gm, example_inputs):
        signal.raise_signal(signal.SIGINT)
        reached.append(True)

    with handled(signal.default_int_handler, signal.SIGINT):
        with pytest.raises(KeyboardInterrupt):
            girih.compile(lambda x: x.sin() + 1, backend=backend)(torch.ones(3))
    assert not reached


def test_all_that_came_run_once_though_one_raises():
    came = []

    def note(number, frame):
        came.append(number)
        raise Timeout

    numbers = [signal.SIGUSR1, signal.SIGUSR2]
    with handled(note), handled(note, signal.SIGUSR2):
        with pytest.raises(Timeout), exclusive.compilation():
            for number in 2 * numbers:
                signal.raise_signal(number)
            assert not came
    assert sorted(came) == numbers


def test_only_the_outermost_ends_the_waiting():
    came = []
    with handled(lambda number, frame: came.append(number)):
        with signals.deferred():
            with signals.deferred():
                signal.raise_signal(signal.SIGUSR1)
            assert not came
        assert came == [signal.SIGUSR1]


def test_a_handler_that_is_set_meanwhile_stays():
    came = []

    def new(number, frame):
        came.append("new")

    before = signal.signal(signal.SIGUSR1, raising)
    try:
        with signals.deferred():
            signal.signal(signal.SIGUSR1, new)
            signal.raise_signal(signal.SIGUSR1)
        assert signal.getsignal(signal.SIGUSR1) is new
        assert came == ["new"]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_child_process_is_not_deaf():
    with handled(lambda number, frame: os._exit(7)), signals.deferred():
        child = os.fork()
        if not child:
            signal.raise_signal(signal.SIGUSR1)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("handler", [signal.default_int_handler, raising])
@pytest.mark.parametrize("dynamic", [False, True])
def test_guards_do_not_swallow_what_a_handler_raises(handler, dynamic):
    compiled = girih.compile(lambda x: x + 1, dynamic=dynamic)
    x = torch.ones(3)
    compiled(x)
    before = girih.counters()["recompilations"]
    with handled(handler, signal.SIGALRM):
        for _ in range(100):
            with pytest.raises((KeyboardInterrupt, Timeout)):
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
                end = time.monotonic() + 5
                while time.monotonic() < end:
                    compiled(x)
    assert girih.counters()["recompilations"] == before


def test_an_interrupt_waits_for_the_end_of_a_pass(monkeypatch):
    """The bindings make another error of what is raised in a callback, or drop it."""
    compiled = girih.compile(lambda x: x.sin() + 1)
    original = registry._run_unit
    ran = []

    def run(*args):
        signal.raise_signal(signal.SIGINT)
        ran.append(original(*args))

    monkeypatch.setattr(registry, "_run_unit", run)
    with handled(signal.default_int_handler, signal.SIGINT):
        with pytest.raises(KeyboardInterrupt):
            compiled(torch.ones(3))
    monkeypatch.undo()
    assert len(ran) == 1
    torch.testing.assert_close(compiled(torch.ones(3)), torch.ones(3).sin() + 1)
    assert not girih.report(compiled).fallbacks
