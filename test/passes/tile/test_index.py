"""Index expressions: simplified divisions agree with Python's on every coordinate."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from girih.dialects.dims import evaluate, parse
from girih.passes.tile.access.shape import reshape_coordinates
from girih.passes.tile.index import (
    Affine,
    Coordinate,
    Quotient,
    Remainder,
    of,
    quotient,
    remainder,
)
from girih.passes.tile.sizes import exact_quotient, is_at_least, least

COORDINATE_SIZES = (2, 3, 4, 6)
COORDINATES = tuple(Coordinate((k, 0), n) for k, n in enumerate(COORDINATE_SIZES))


def value(expression: Affine, at: dict) -> int:
    """The value of an expression where coordinates have these values."""
    total = expression.const
    for atom, coefficient in expression.terms:
        total += coefficient * atom_value(atom, at)
    return total


def atom_value(atom, at: dict) -> int:
    if isinstance(atom, Quotient):
        return value(atom.value, at) // atom.divisor
    if isinstance(atom, Remainder):
        return value(atom.value, at) % atom.divisor
    return at[atom]


def points():
    ranges = [range(size) for size in COORDINATE_SIZES]
    for point in itertools.product(*ranges):
        yield dict(zip(COORDINATES, point, strict=True))


@st.composite
def expressions(draw):
    """Sums of coordinates that are nowhere negative."""
    coefficients = draw(st.lists(st.integers(-12, 12), min_size=4, max_size=4))
    lowest = sum(
        min(c * (n - 1), 0) for c, n in zip(coefficients, COORDINATE_SIZES, strict=True)
    )
    result = Affine((), draw(st.integers(0, 12)) - lowest)
    for coordinate, coefficient in zip(COORDINATES, coefficients, strict=True):
        result = result + of(coordinate) * coefficient
    return result


@given(expressions(), st.integers(1, 24))
def test_quotient_and_remainder(expression, divisor):
    high, low = quotient(expression, divisor), remainder(expression, divisor)
    for at in points():
        number = value(expression, at)
        assert value(high, at) == number // divisor
        assert value(low, at) == number % divisor


@pytest.mark.parametrize(
    "source, result",
    [((2, 3, 4, 6), (6, 24)), ((144,), (2, 3, 4, 6)), ((12, 12), (2, 3, 4, 6))],
)
def test_reshape_is_the_same_linear_position(source, result):
    # The coordinates are those of (2, 3, 4, 6), merged as ``result`` asks.
    at_result, place = [], 0
    for size in result:
        expression, product = Affine((), 0), 1
        while product < size:
            coordinate = COORDINATES[place]
            expression = expression * coordinate.size + of(coordinate)
            product, place = product * coordinate.size, place + 1
        at_result.append(expression)
    at_source = reshape_coordinates(source, result, tuple(at_result))
    for at in points():
        assert linear(at_source, source, at) == linear(at_result, result, at)


def linear(coordinates, shape, at):
    position = 0
    for coordinate, size in zip(coordinates, shape, strict=True):
        index = value(coordinate, at)
        assert 0 <= index < size
        position = position * size + index
    return position


def test_views_of_merged_dims_leave_no_division():
    rows, heads, depth = (of(c) for c in COORDINATES[1:])
    found = reshape_coordinates((3, 24), (3, 4, 6), (rows, heads, depth))
    assert found == (rows, heads * 6 + depth)


def test_symbolic_division():
    batch, steps = parse("s0"), parse("s1")
    b, s = of(Coordinate((0, 0), batch)), of(Coordinate((1, 0), steps))
    assert quotient(b * steps + s, steps) == b
    assert remainder(b * steps + s, steps) == s


@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5))
def test_least_is_a_lower_bound(square, linear_term, const):
    size = parse(f"{square}*s0*s1 + {linear_term}*s0 + {const}")
    bound = least(size)
    for s0, s1 in itertools.product(range(1, 5), repeat=2):
        if bound is not None:
            assert evaluate(size, {"s0": s0, "s1": s1}) >= bound


def test_exact_quotient():
    assert exact_quotient(parse("6*s0*s1"), parse("2*s1")) == parse("3*s0")
    assert exact_quotient(parse("6*s0 + 1"), 2) is None
    assert exact_quotient(12, 5) is None
    assert is_at_least(parse("2*s0"), parse("s0 + 1"))
    assert not is_at_least(parse("s0"), 2)
    assert math.isfinite(least(parse("s0*s1")))
