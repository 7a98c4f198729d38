"""What builtin and library classes answer at their edges: as plain Python does."""

import operator
import os
import posixpath
import time
import types
from collections import OrderedDict, defaultdict
from decimal import Decimal
from fractions import Fraction

import pytest
import torch
from capture_differential import compile_eagerly

import girih


class Ordered(OrderedDict):
    pass


class Defaulting(defaultdict):
    pass


class Members(set):
    pass


class Counted(int):
    def __init__(self, *args):
        self.hashes = 0

    def __hash__(self):
        self.hashes += 1
        return int.__hash__(self)


NUMBERS = [Decimal("1.5"), Fraction(1, 2), 1, 0.5, 1j]


def comparisons_of_numbers():
    for compare in (operator.lt, operator.ge, operator.eq, operator.ne):
        for left in NUMBERS:
            for right in NUMBERS:
                try:
                    yield compare(left, right)
                except TypeError as error:
                    yield str(error)


def comparisons_with_made_fractions():
    half = Fraction(1, 2)
    yield Decimal(1) < half, half < Decimal(1), Decimal("0.5") == half


def merged_mappings():
    one, two, other = Ordered(a=1), Ordered(b=2), Defaulting(int, c=3)
    for left in (one, OrderedDict(a=1), other, {"d": 4}):
        for right in (two, other, {"e": 5}):
            made = left | right
            yield type(made).__name__, list(made.items())


def ends_of_an_ordered_dict():
    items = Ordered(a=1)
    for attempt in (lambda: items.pop("b"), lambda: items.clear() or items.popitem()):
        try:
            attempt()
        except KeyError as error:
            yield str(error)


def ordered_dict_changed_by_dict():
    items = OrderedDict(a=1, b=2)
    dict.__delitem__(items, "a")
    try:
        yield list(items.items())
    except KeyError as error:
        yield str(error)


def sets_in_sets():
    for members in ({1, frozenset([1])}, frozenset([2]), Members([frozenset([3])])):
        for key in ({1}, Members([3]), [], {}, frozenset([1])):
            try:
                yield key in members, members.__contains__(key)
            except TypeError as error:
                yield str(error)


def removed_from_sets():
    members = Members([1, frozenset([1])])
    for key in ({1}, Members([2]), [1]):
        try:
            yield members.remove(key)
        except KeyError as error:
            yield error.args[0] is key
        except TypeError as error:
            yield str(error)


def hashes_that_are_kept():
    keys = dict.fromkeys(map(Counted, range(3)))
    copies = dict.fromkeys(set(keys)), dict.fromkeys(keys), frozenset(keys)
    yield [len(copy) for copy in copies], sum(key.hashes for key in keys)


def views_of_a_dict():
    items = {"a": 1}
    proxy = types.MappingProxyType(items)
    copy = proxy.copy()
    items["a"] = 2
    yield copy["a"], proxy["a"], dict(proxy), len(proxy)


def translations():
    yield "abc".maketrans({"a": "b"}), "abc".maketrans("ab", "xy")
    yield "a-b".translate(str.maketrans(dict.fromkeys("-"))), (1).from_bytes(b"a")


def indices_of_slices():
    for part in (slice(0, 9, 0), slice(None), slice(1, 5, 2)):
        for length in (10, -1, "a"):
            try:
                yield part.indices(length)
            except (TypeError, ValueError) as error:
                yield str(error)


def long_ranges():
    for bounds in ((2**100,), (0, 2**100, 2**50), (-(2**100), 2**100, 3)):
        items = range(*bounds)
        yield next(iter(items)), next(reversed(items)), next(iter(items[5:]))
        try:
            yield len(items)
        except OverflowError as error:
            yield str(error)


def structures():
    for args in ((), ("123456789",), (range(9),), ([[1]] * 9,)):
        try:
            made = time.struct_time(*args)
        except TypeError as error:
            yield str(error)
        else:
            yield made.tm_year, made[0], tuple(made), len(made)
    made = os.stat_result(range(10))
    yield made.st_mode, made[0], posixpath.ismount("/")


@pytest.mark.parametrize(
    "answers",
    [
        f
        for f in list(globals().values())
        if getattr(f, "__module__", "") == __name__
        and isinstance(f, types.FunctionType)
    ],
    ids=lambda f: f.__name__,
)
def test_same_as_plain(answers):
    def program(x):
        return x + 1, list(answers())

    compiled = compile_eagerly(program, fullgraph=False)
    assert str(compiled(torch.ones(2))) == str(program(torch.ones(2)))
    assert not girih.counters()["fallbacks"].get("bug")


def test_a_proxy_shows_what_its_dict_holds_later():
    def program(x):
        items = {"a": 1}
        return x + 1, items, types.MappingProxyType(items)

    _, items, proxy = compile_eagerly(program)(torch.ones(2))
    items["a"] = 2
    assert proxy["a"] == 2
