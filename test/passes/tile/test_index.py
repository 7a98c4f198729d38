"""Index expressions: simplified divisions agree with Python's on every coordinate."""

import itertools
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from girih.dialects.dims import evaluate, parse
from girih.passes.tile.access.evaluator import offset_in
from girih.passes.tile.access.shape import reshape_coordinates
from girih.passes.tile.index import (
    Affine,
    Coordinate,
    Quotient,
    Remainder,
    bounds,
    of,
    quotient,
    recombined,
    remainder,
)
from girih.passes.tile.sizes import exact_quotient, is_at_least, least

COORDINATE_SIZES = (2, 3, 4, 6)
COORDINATES = tuple(Coordinate((k, 0), n) for k, n in enumerate(COORDINATE_SIZES))


def value(expression: Affine, at: dict) -> int:
    """The value of an expression where coordinates, and ``s``, have these values."""
    total = number(expression.const, at)
    for atom, coefficient in expression.terms:
        total += number(coefficient, at) * atom_value(atom, at)
    return total


def number(size, at: dict) -> int:
    return size if isinstance(size, int) else evaluate(size, {"s": at["s"]})


def atom_value(atom, at: dict) -> int:
    """The value that code computes, whose divisions take no negative numbers."""
    if isinstance(atom, Quotient | Remainder):
        inner = value(atom.value, at)
        assert inner >= 0, atom
        divided = divmod(inner, number(atom.divisor, at))
        return divided[isinstance(atom, Remainder)]
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
        whole = value(expression, at)
        assert value(high, at) == whole // divisor
        assert value(low, at) == whole % divisor


SIZES = [parse(text) for text in ("s", "2*s", "s - 1", "2*s - 1", "-s", "-2*s")]


@st.composite
def symbolic_expressions(draw):
    """Sums of coordinates and multiples of ``s`` that may be negative somewhere."""
    numbers = st.integers(-6, 6)
    result = Affine((), draw(numbers) + draw(numbers) * draw(st.sampled_from(SIZES)))
    for coordinate in COORDINATES:
        factor = draw(st.sampled_from([0, 1, 2, 4, 6, draw(numbers), *SIZES[:2]]))
        result = result + of(coordinate) * factor
    return result


# A row of 4 behind 2*s - 1 rows of 2: its number, less these rows, is divided by 2.
SHIFTED = of(COORDINATES[3]) * 4 + of(COORDINATES[1]) * 2 + of(COORDINATES[0])
SHIFTED = SHIFTED + parse("2 - 4*s")


@example(SHIFTED, 4)
@given(symbolic_expressions(), st.sampled_from([2, 3, 4, 6, 8, 12, *SIZES[:2]]))
def test_what_is_negative_somewhere_is_divided_where_it_is_not(expression, divisor):
    """Guards leave out the places where it is: no other place divides below zero."""
    high, low = quotient(expression, divisor), remainder(expression, divisor)
    for at, size in itertools.product(points(), (2, 3, 5)):
        at["s"] = size
        whole = value(expression, at)
        if whole >= 0:
            assert value(high, at) == whole // number(divisor, at)
            assert value(low, at) == whole % number(divisor, at)


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


@pytest.mark.parametrize("source", [(18, 8), (8, 18), (9, 4, 4), (16, 9), (5, 29)])
@pytest.mark.parametrize("result", [(2, 3, 4, 6), (6, 24), (24, 6)])
def test_what_lies_in_a_row_is_read_without_division(source, result):
    sizes, at = iter(COORDINATES), []
    for size in result:
        expression = of(next(sizes))
        while bounds(expression)[1] + 1 < size:
            coordinate = next(sizes)
            expression = expression * coordinate.size + of(coordinate)
        at.append(expression)
    found = reshape_coordinates(source, result, tuple(at))
    strides = [math.prod(source[dim + 1 :]) for dim in range(len(source))]
    offset = offset_in(strides, found)
    assert all(isinstance(atom, Coordinate) for atom, _ in offset.terms)
    for place, point in enumerate(points()):
        assert value(offset, point) == place


@given(expressions(), st.integers(1, 24), st.integers(-3, 3), st.integers(-3, 3))
def test_recombined_is_the_same_number(expression, divisor, whole, part):
    first = quotient(expression, divisor) * (whole * divisor)
    combined = first + remainder(expression, divisor) * part + expression
    found = recombined(combined)
    for at in points():
        assert value(found, at) == value(combined, at)


def test_sizes_that_are_symbols_are_not_divided_by():
    source = tuple(map(parse, ("s0", "s1", "s2")))
    strides = (source[1] * source[2], source[2], 1)
    at = tuple(map(of, COORDINATES))
    found = reshape_coordinates(source, COORDINATE_SIZES, at)
    a, b, c, d = at
    assert offset_in(strides, found) == a * 72 + b * 24 + c * 6 + d
    columns = (1, source[0], source[0] * source[1])
    offset = offset_in(columns, found)
    assert any(isinstance(atom, Remainder) for atom, _ in offset.terms)


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
