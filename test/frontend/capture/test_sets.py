"""Sets keep Python's order, whatever was done to them."""

import copy
import random

import pytest
import torch

import girih
from girih.errors import UnsupportedError

X = torch.ones(3)


def captured(function, *args):
    """What a function gives, captured in one graph."""
    return girih.compile(function, backend="eager", fullgraph=True)(*args)[1:]


@pytest.mark.parametrize("seed", range(3))
def test_order_of_sets(seed):
    def function(x, given, frozen):
        made = {9, 1, 17, 3}
        made.add(33)
        made.discard(1)
        names = {"z", "y", "x", "w"}
        more = given | {100, 2}
        rest = list(given), list(more), list(more - {100}), list(given & {1, *more})
        first = made.pop()
        mixed = {1: 2}.keys() & [1], {1} | {1: 1, 4: 4}.keys(), list(made ^ {3, 99})
        ordered = made <= given, {1, 2} < {1, 2, 3}, frozen >= {"a"}
        return x + 1, list(made), list(names), rest, first, mixed, ordered, [*frozen]

    given = set(random.Random(seed).sample(range(1000), 20))
    args = X, given, frozenset("abcdef")
    assert captured(function, *args) == function(*args)[1:]


def test_order_of_a_set_from_outside_is_guarded():
    def function(x, given):
        return x + 1, list(given)

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    first, second = {8, 0}, {0, 8}
    for given in (first, second, first):
        assert compiled(X, given)[1] == list(given)


def test_changes_keep_the_order_of_the_rest():
    def function(x, given):
        given.add(500)
        given.discard(3)
        given.update([7, 501])
        return x + 1, len(given), 500 in given

    results = []
    for run in (captured, lambda f, *args: f(*args)[1:]):
        given = {*range(64, 0, -7), 3, 8, 16}
        results.append((run(function, X, given), list(given)))
    assert results[0] == results[1]


def test_a_changed_set_is_not_iterated_in_a_graph():
    def function(x, given):
        given.add(1)
        return x + 1, list(given)

    with pytest.raises(UnsupportedError, match="iteration over a set"):
        captured(function, X, {5, 4})
    mine, theirs = {70, 8, 16}, {70, 8, 16}
    found = girih.compile(function, backend="eager")(X, mine)
    assert found[1] == function(X, theirs)[1]


def test_operands_that_are_no_sets():
    def function(x, given):
        try:
            return x, given | [2]
        except TypeError as error:
            return x, str(error)

    assert captured(function, X, {1}) == function(X, {1})[1:]


def test_equal_members():
    def function(x, given):
        both = {1, 2} & {True}, {True} | {1}, {1.0} & given
        return x, [[type(item).__name__ for item in found] for found in both]

    assert captured(function, X, {1}) == function(X, {1})[1:]


def test_a_copy_is_another_set():
    def function(x, given):
        other = copy.copy(given)
        third = given.copy()
        third.add(9)
        return x, other == given, other is given, third

    assert captured(function, X, {1}) == (True, False, {1, 9})
