"""Sizes that are known to be equal."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from size_expressions import EXPRESSIONS, VALUES

from girih.dialects import dims
from girih.dialects.dims import parse
from girih.dialects.equations import Equations


def knowing(*pairs: tuple[str, str]) -> Equations:
    equations = Equations()
    for one, other in pairs:
        equations.add(parse(one), parse(other))
    return equations


@pytest.mark.parametrize(
    ("known", "size", "expected"),
    [
        (("(s0 // 32)*(s1 // 32)", "49"), "(s0 // 32)*(s1 // 32) + 1", "50"),
        (("(s0 // 32)*(s1 // 32)", "49"), "3*s5*(s0 // 32)*(s1 // 32)", "147*s5"),
        (("8*(s0//2 - 1)*(s1//2 - 1)", "392"), "s2*(s0//2 - 1)*(s1//2 - 1)", "49*s2"),
        (("(s0 // 4 - 1) // 2", "2"), "(((s0 // 4 - 1) // 2 + 1)*s1) // 3", "s1"),
        (("s0*s1", "s2"), "s0*s1 // 2 + s1", "s2 // 2 + s1"),
        (("2*s0*s1", "3*s2*s3"), "6*s2*s3*s4", "4*s0*s1*s4"),
        (("s0 + s1", "s2"), "s0 + s1", "s2"),
        (("s0", "s1 // 2"), "s0 + s1 // 2", "2*s0"),
        (("s0*s1", "(s0*s1 + s2) // 2"), "(s0*s1 + s2) // 2", "s0*s1"),
        (("s0", "7"), "s0 // 2 + s0*s1", "7*s1 + 3"),
        (("2*s0", "s10000"), "s10000 + 1", "s10000 + 1"),
    ],
)
def test_equal_sizes_are_replaced_in_others(known, size, expected):
    assert knowing(known).simplest(parse(size)) == parse(expected)


def test_what_follows_from_several_is_known():
    equations = knowing(("s0 // 2", "s2"), ("s1*(s0 // 2)", "12"), ("s3 // 2", "s2"))
    assert equations.simplest(parse("s1*(s3 // 2) + 1")) == 13


def test_a_symbol_that_only_one_number_fits_is_that_everywhere():
    equations = knowing(("(s0 - 1) // 2", "15"), ("2*((s0 - 1) // 2) + 2", "s0"))
    assert equations.simplest(parse("s0")) == 32
    assert equations.simplest(parse("s0 // 2 + s1")) == parse("s1 + 16")


@pytest.mark.parametrize(
    "size", ["s1", "s2", "3*s2", "s3*s1 + 1", "7*(s0 // 2)*(s3 // 2)"]
)
def test_symbols_that_are_one_are_one_everywhere(size):
    """Else a size would be written with a symbol that no input has any more."""
    product = "(s0 // 2)*(s3 // 2)"
    equations = knowing(("s1", product), ("s2", product))
    simplest = equations.simplest(parse("s1 + s2"))
    (symbol,) = dims.symbols_of(simplest)
    assert dims.symbols_of(equations.simplest(parse(size))) <= {symbol, "s3"}


def test_what_was_known_is_known_of_the_symbol_that_stands_for_all():
    product = "(s0 // 2)*(s3 // 2)"
    equations = knowing(("s2", product), ("s2 // 14", "14"), ("s4", "(s2 // 14)*s0"))
    equations.add(parse("s1"), parse("s2"))
    for same in ("s1 // 14", "s2 // 14", f"({product}) // 14"):
        assert equations.simplest(parse(same)) == 14
    assert equations.are_equal(parse("s4"), parse("14*s0"))


def test_sums_of_symbols_are_equal_though_none_is_replaced():
    equations = knowing(("s0 + s1", "s2"))
    assert equations.are_equal(parse("s0 + s1 + 1"), parse("s2 + 1"))
    assert not equations.are_equal(parse("s0 + s1 + 1"), parse("s2 + 2"))
    assert not equations.are_equal(parse("s0"), parse("s1"))


VIEWED = (
    ("s2*s3*((s0*s1) // (s2*s3))", "s0*s1"),
    ("(s0*s1) // (s2*s3)", "2"),
    ("s3*max(1, (s0*s1) // (s2*s3))", "s3*((s0*s1) // (s2*s3))"),
    ("s1*s2", "s2*s3*((s0*s1) // (s2*s3))"),
)
"""What guards of a view say: a size that the view found is a number elsewhere."""


@pytest.mark.parametrize("pairs", itertools.permutations(VIEWED))
@pytest.mark.parametrize("names", itertools.permutations("0123"))
def test_no_later_equation_hides_an_earlier_one(pairs, names):
    """Names of symbols decide which of two products stands for the other."""
    renamed = {f"s{old}": f"s{new}" for old, new in enumerate(names)}
    said = [
        tuple(re.sub(r"s\d", lambda name: renamed[name[0]], side) for side in pair)
        for pair in pairs
    ]
    equations = knowing(*said)
    for one, other in said:
        assert equations.simplest(parse(one)) == equations.simplest(parse(other))


@settings(deadline=None)
@given(st.lists(st.tuples(EXPRESSIONS, EXPRESSIONS), max_size=3), EXPRESSIONS, VALUES)
def test_the_simplest_is_equal_where_what_is_known_holds(pairs, expression, values):
    """Any size plus the difference to its value is a known equation."""
    equations, noted = Equations(), []
    for one, other in pairs:
        offset = one.compute(values) - other.compute(values)
        noted.append((one.size, other.size + offset))
        equations.add(*noted[-1])
    assert all(equations.are_equal(*pair) for pair in noted)
    simplest = equations.simplest(expression.size)
    assert dims.evaluate(simplest, values) == expression.compute(values)
