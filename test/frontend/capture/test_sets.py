"""Sets keep Python's order, whatever was done to them."""

import collections
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


def equal_tensors(count):
    """Tensors that ``==`` does not tell apart."""
    return [torch.tensor(1.0) for _ in range(count)]


def vectors(count):
    """Tensors whose ``==`` is neither true nor false."""
    return [torch.randn(i % 3 + 2) for i in range(count)]


class WithoutEqual:
    """Objects of one hash, whose ``==`` must not run more often than in Python."""

    asked = 0

    def __hash__(self):
        return 7

    def __eq__(self, other):
        WithoutEqual.asked += 1
        return self is other


@pytest.mark.parametrize("kind", [set, frozenset])
@pytest.mark.parametrize("make", [equal_tensors, vectors])
def test_tensors_in_a_set_across_a_break(kind, make):
    def function(x, members):
        made = kind(members)
        keyed = {made: 1} if kind is frozenset else {}
        total = (x + 1).sum().item()
        return total, len(made), [item in made for item in members], len(keyed)

    def suspended(x, members):
        def numbers():
            seen = set()
            for item in members:
                seen.add(item)
                yield len(seen)

        made = numbers()
        first = next(made)
        total = (x + 1).sum().item()
        return total, first, list(made)

    for trial in range(6):
        members = make(4 + 7 * trial)
        for program in (function, suspended):
            assert girih.compile(program)(X, members) == program(X, members)


def test_equal_of_members_is_not_asked_at_a_break():
    def function(x, first, second):
        made = {first, second}
        total = (x + 1).sum().item()
        return total, len(made)

    def counted(program):
        WithoutEqual.asked = 0
        return program(X, WithoutEqual(), WithoutEqual()), WithoutEqual.asked

    assert counted(girih.compile(function)) == counted(function)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (equal_tensors(3), None),
        (vectors(3), None),
        ([(1, 2)], [(True, 2)]),
        ([(X, 2)], [(torch.ones(3), 2)]),
        ([0.0], [-0.0]),
        ([1], [1.0]),
    ],
)
@pytest.mark.parametrize("kind", [dict.fromkeys, collections.OrderedDict.fromkeys, set])
def test_keys_are_guarded_by_hash_and_class(kind, first, second):
    compiled = girih.compile(lambda x, given: (x + 1, list(given)))
    for keys in (first, first[::-1] if second is None else second, first):
        given = kind(keys)
        pairs = zip(compiled(X, given)[1], given, strict=True)
        assert all(a is b or (repr(a), type(a)) == (repr(b), type(b)) for a, b in pairs)
        if isinstance(keys[0], torch.Tensor):
            assert all(
                a is b for a, b in zip(compiled(X, given)[1], given, strict=True)
            )


@pytest.mark.parametrize(
    "function",
    [
        lambda x, given: (x + 1, list(given | {100})),
        lambda x, given: (x + 1, list({100} | given)),
        lambda x, given: (x + 1, list(set(given))),
        lambda x, given: (x + 1, list({100}.union(given, {3}))),
        lambda x, given: (x + 1, [made := {100}, made.update(given), *made][2:]),
    ],
)
def test_order_of_what_is_made_of_sets_is_guarded(function):
    compiled = girih.compile(function)
    for given in ({8, 0}, {0, 8}, {8, 0}):
        assert compiled(X, given)[1] == function(X, given)[1]


def test_order_of_what_is_made_of_a_changed_set_is_not_guessed():
    def function(x, given):
        given.add(500)
        return x + 1, list({100} | given)

    message = "iteration over a set that was changed"
    with pytest.raises(UnsupportedError, match=message):
        captured(function, X, {8, 0})


def test_keys_of_ordered_dicts_are_compared_by_equal():
    def function(x, first, second):
        return x + 1, first == second

    one, two = equal_tensors(2)
    ordered = collections.OrderedDict
    args = ordered({one: 1, two: 2}), ordered({two: 2, one: 1})
    assert girih.compile(function)(X, *args)[1] is function(X, *args)[1] is True
