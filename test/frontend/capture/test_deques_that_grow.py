"""Deques from outside whose length is another one at each call."""

from __future__ import annotations

from collections import deque

import pytest
import torch

import girih


def appends(items, x):
    items.append(x * 2)
    return x + 1


def averages(items, x):
    items.append(x * 2)
    return sum(items) / len(items)


def moves(items, x):
    items.append(x * 2)
    items.append(x - 1)
    first = items.popleft()
    items.appendleft(x)
    items.rotate(1)
    return first + items[-1]


def iterates(items, x):
    later = iter(items)
    items.append(x)
    try:
        return x + next(later)
    except RuntimeError:
        return x - 1


def holds_itself(items, x):
    if not items:
        items.append(items)
    items.append(x * 2)
    return items[0][-1] + 1


PROGRAMS = (appends, averages, moves, iterates, holds_itself)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("maxlen", [None, 3, 0, 40])
def test_a_deque_that_grows_is_pythons(program, maxlen):
    girih.reset()
    compiled = girih.compile(program)
    mine, theirs = deque(maxlen=maxlen), deque(maxlen=maxlen)

    def outcome(function, items, x):
        try:
            return function(items, x).tolist()
        except Exception as error:
            return type(error), str(error)

    for number in range(14):
        x = torch.full((3,), number * 0.5)
        assert outcome(compiled, mine, x) == outcome(program, theirs, x)
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            if isinstance(one, torch.Tensor):
                assert torch.equal(one, other)
            else:
                assert one is mine and other is theirs


def test_one_graph_appends_for_any_length():
    girih.reset()
    compiled, items = girih.compile(appends), deque()
    for _ in range(12):
        compiled(items, torch.ones(3))
    assert girih.counters()["graphs"] == 1


def test_each_length_is_compiled_at_most_as_often_as_the_limit_says():
    girih.reset()
    compiled, items = girih.compile(averages, options={"fallback": False}), deque()
    graphs = []
    for _ in range(30):
        compiled(items, torch.ones(3))
        graphs.append(girih.counters()["graphs"])
    assert graphs[-1] == graphs[16]
