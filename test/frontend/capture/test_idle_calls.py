"""Calls of helpers, and parts behind a break, that compute nothing at first.

Later calls may compute: they are compiled, not left to Python for good.
"""

from __future__ import annotations

import datetime

import pytest
import torch

import girih
from girih.frontend.capture import api

X = torch.linspace(0, 1, 4)


class Graphs:
    """A backend that counts, and that runs the graphs as they are."""

    def __init__(self):
        self.count = 0

    def __call__(self, graph, examples):
        self.count += 1
        return graph.forward


def returns_early(x, flag):
    print(end="")
    if flag:
        return x
    return x.sin() * 2


def helper(x, flag):
    return x if flag else x.sin() * 2


def in_a_helper(x, flag):
    print(end="")
    made = [helper(x, flag) for _ in range(1)]
    print(end="")
    return made[0]


class Holder:
    def compute(self, x, flag):
        print(end="")
        if flag:
            return x
        print(end="")
        return self.rest(x)

    def rest(self, x):
        return x.sin() * 2


def in_a_method(x, flag):
    return Holder().compute(x, flag)


@pytest.mark.parametrize("program", [returns_early, in_a_helper, in_a_method])
@pytest.mark.parametrize("idle", [1, 2, 5])
def test_what_follows_an_early_return_is_compiled(program, idle):
    graphs = Graphs()
    compiled = girih.compile(program, backend=graphs)
    for flag in [True] * idle + [False] * (idle + 1) + [True, False]:
        torch.testing.assert_close(compiled(X, flag), program(X, flag))
    assert 1 <= graphs.count <= 2  # a helper by itself, and within its caller


def test_a_loop_that_ended_is_compiled_for_other_tensors():
    def loop(x, n):
        found = []
        for _ in range(n):
            x = x.sin() * 2
            found.append(x.sum().item())
        return found

    graphs = Graphs()
    compiled = girih.compile(loop, backend=graphs)
    assert compiled(X, 3) == loop(X, 3)
    first = graphs.count
    for x in (X.double(), X.double()):
        assert compiled(x, 3) == loop(x, 3)
    assert graphs.count == 2 * first


def test_attempts_that_bring_nothing_become_rarer(monkeypatch):
    captured = []

    def counting(call):
        captured.append(call.function.__name__)
        return capture(call)

    def program(x, name):
        print(end="")
        return len(name.upper())

    capture = api.capture
    monkeypatch.setattr(api, "capture", counting)
    compiled = girih.compile(program, backend=Graphs())
    for k in range(200):
        assert compiled(X, "a" * k) == k
    assert 4 <= len(captured) <= 30


@pytest.mark.parametrize("program", [returns_early, in_a_helper])
def test_idle_calls_need_no_recompilation(program):
    compiled = girih.compile(program, backend=Graphs())
    compiled(X, True)
    with girih.set_stance("fail_on_recompile"):
        for _ in range(3):
            assert compiled(X, True) is X


def dates(start, kept):
    days = [start + datetime.timedelta(days=k) for k in range(len(kept))]
    return [str(day) for day, is_kept in zip(days, kept, strict=True) if is_kept]


@pytest.mark.filterwarnings("error")
def test_dates_in_a_loop_with_breaks():
    generator = torch.Generator().manual_seed(0)
    compiled = girih.compile(dates)
    for k in range(4):
        start = datetime.date(2024, 2, 25 + k)
        kept = torch.rand(12, generator=generator) > 0.3
        assert compiled(start, kept) == dates(start, kept)
