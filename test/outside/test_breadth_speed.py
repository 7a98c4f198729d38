"""What ``make breadth`` takes the times of, and how."""

import time

import pytest
import torch
from breadth import speed
from breadth.measure import Settings, measure
from breadth.model import Model
from torch import nn

# Long beside what a machine under load adds to a call.
WAIT = 1e-2
DEFAULTS = {"LEAST_ROUNDS": 3, "SECONDS": 0.25}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    for name, value in DEFAULTS.items():
        monkeypatch.setattr(speed, name, value)


def scales():
    return Model(nn.Linear(3, 3), lambda *_: ((torch.ones(2, 3),), {}))


def waiting(calls, name, seconds, module):
    def function(x):
        calls.append(name)
        assert bool((x == 1).all())
        time.sleep(seconds)
        result = module(x.clone())
        x.detach().zero_()
        return result

    return function


@pytest.mark.parametrize("times", [speed.result_times, speed.step_times])
def test_calls_alternate_and_have_arguments_of_their_own(times):
    model, calls = scales(), []
    functions = {
        name: waiting(calls, name, seconds, model.module)
        for name, seconds in (("eager", WAIT), ("girih", 4 * WAIT))
    }
    found = times(functions, model, "cpu")
    assert WAIT <= found["eager"] < found["girih"]
    pairs = list(zip(calls[::2], calls[1::2], strict=True))
    assert len(pairs) > speed.LEAST_ROUNDS
    assert {frozenset(pair) for pair in pairs} == {frozenset(functions)}
    assert len(set(pairs)) == 2


def test_a_step_has_a_backward_pass_and_results_have_none():
    model = scales()
    speed.result_times({"eager": model.module}, model, "cpu")
    assert model.module.weight.grad is None
    speed.step_times({"eager": model.module}, model, "cpu")
    assert model.module.weight.grad is not None


@pytest.mark.parametrize("rounds", [1, 5])
def test_times_are_bounded(monkeypatch, rounds):
    monkeypatch.setattr(speed, "LEAST_ROUNDS", rounds)
    monkeypatch.setattr(speed, "SECONDS", 0.0)
    model, calls = scales(), []
    functions = {"eager": waiting(calls, "eager", 0, model.module)}
    speed.result_times(functions, model, "cpu")
    assert len(calls) == 1 + rounds


@pytest.mark.parametrize("part", ["forward", "training32"])
def test_times_are_in_the_record(part):
    record = measure(scales(), part, Settings())
    assert record["verdict"] == "right", record
    times = record["times"]
    assert set(times) == {"eager", "girih"}
    assert min(times.values()) > 0
