"""Capture is given up after a bounded number of steps, and not tried again."""

import itertools
import logging

import pytest
import torch
from capture_differential import run_graph

import girih
from girih.errors import UnsupportedError
from girih.frontend.capture import budget, capture
from girih.frontend.capture.api import Settings
from girih.frontend.capture.budget import OVER_BUDGET, Limits
from girih.frontend.capture.targets import compile_callable


@pytest.fixture(autouse=True)
def _nothing_given_up():
    budget.forget()


def long_loop(x, count):
    total = 0
    for index in range(count):
        total += index % 3
    return x + total


def grows(x, count):
    for _ in range(count):
        x = x + 1
    return x


def consumes(x):
    return x + sum(itertools.takewhile(lambda n: n < 5_000, itertools.count()))


def compiled_within(function, fullgraph=False, **limits):
    tried = []
    settings = Settings(
        fullgraph, None, run_graph, limits=Limits(**limits), observer=tried.append
    )
    return compile_callable(function, settings), tried


CASES = {
    "instructions": (long_loop, {"instructions": 2_000}, (5_000,)),
    "operations": (grows, {"operations": 50}, (100,)),
    "items": (consumes, {"instructions": 20_000}, ()),
}


@pytest.mark.parametrize("function, limits, args", CASES.values(), ids=CASES)
def test_runs_as_python_and_is_not_tried_again(function, limits, args, caplog):
    caplog.set_level(logging.CRITICAL)
    compiled, tried = compiled_within(function, **limits)
    for _ in range(3):
        assert torch.equal(
            compiled(torch.ones(2), *args), function(torch.ones(2), *args)
        )
    roots = [one for one in tried if one.call.function.__name__ == function.__name__]
    assert [one.error.kind for one in roots] == [OVER_BUDGET]


@pytest.mark.parametrize("function, limits, args", CASES.values(), ids=CASES)
def test_fullgraph_raises(function, limits, args):
    compiled, _ = compiled_within(function, fullgraph=True, **limits)
    (what,) = limits
    with pytest.raises(UnsupportedError, match=f"capture_{what}"):
        compiled(torch.ones(2), *args)


def test_a_loop_that_does_not_end_while_tracing():
    compiled, _ = compiled_within(endless, fullgraph=True, seconds=0.2)
    with pytest.raises(UnsupportedError, match="capture_seconds"):
        compiled(torch.ones(2), [])


def test_the_clock_is_looked_at_with_each_operation():
    compiled, _ = compiled_within(grows, fullgraph=True, seconds=0.0)
    with pytest.raises(UnsupportedError, match="capture_seconds"):
        compiled(torch.ones(2), 3)


def endless(x, items):
    while not items:
        x = x.detach()
    return x


def test_options():
    options = {"capture_operations": 10}
    compiled = girih.compile(grows, fullgraph=True, backend="eager", options=options)
    assert torch.equal(compiled(torch.ones(2), 9), torch.full((2,), 10.0))
    with pytest.raises(UnsupportedError, match="'capture_operations'"):
        compiled(torch.ones(2), 20)
    with pytest.raises(ValueError, match="capture_seconds"):
        girih.compile(grows, options={"capture_seconds": 0})


def around(x, count):
    return long_loop(x * 2, count) + 1


def test_code_is_not_tried_again_by_others(monkeypatch, caplog):
    caplog.set_level(logging.CRITICAL)
    compiled, _ = compiled_within(long_loop, instructions=2_000)
    compiled(torch.ones(2), 5_000)
    monkeypatch.setattr(capture, "root_function", None)  # which tracing would call
    again, tried = compiled_within(long_loop, instructions=1_000)
    assert torch.equal(again(torch.ones(2), 5_000), long_loop(torch.ones(2), 5_000))
    assert [one.error.kind for one in tried] == [OVER_BUDGET]


def test_a_caller_breaks_at_code_that_was_given_up(caplog):
    caplog.set_level(logging.CRITICAL)
    compiled_within(long_loop, instructions=2_000)[0](torch.ones(2), 5_000)
    compiled, tried = compiled_within(around, instructions=2_000)
    assert torch.equal(compiled(torch.ones(2), 3), around(torch.ones(2), 3))
    (first,) = (one for one in tried if one.call.function is around)
    assert first.captured.broken.kind == OVER_BUDGET


def test_higher_limits_and_reset_are_another_chance(caplog):
    caplog.set_level(logging.CRITICAL)
    compiled_within(long_loop, instructions=2_000)[0](torch.ones(2), 500)
    higher, _ = compiled_within(long_loop, fullgraph=True, instructions=100_000)
    assert torch.equal(higher(torch.ones(2), 500), long_loop(torch.ones(2), 500))
    girih.reset()
    same, _ = compiled_within(long_loop, fullgraph=True, instructions=2_000)
    assert torch.equal(same(torch.ones(2), 5), long_loop(torch.ones(2), 5))


def test_explain_has_the_budget_of_the_compiled_function():
    options = {"capture_operations": 5}
    compiled = girih.compile(grows, backend="eager", options=options)
    told = girih.explain(compiled, backend="eager")(torch.ones(2), 10)
    assert [reason.kind for reason in told.break_reasons] == [OVER_BUDGET]
    budget.forget()
    wider = girih.explain(compiled, backend="eager", options={"capture_operations": 50})
    assert wider(torch.ones(2), 10).graph_break_count == 0
    assert girih.explain(grows, backend="eager")(torch.ones(2), 10).graph_count == 1
