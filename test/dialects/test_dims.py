"""Dims: canonical form, text, evaluation; against Python's own integers."""

import pytest
from hypothesis import given
from size_expressions import EXPRESSIONS, SYMBOLS, VALUES

from girih.dialects import dims
from girih.dialects.dims import Dim, parse, symbol


@given(EXPRESSIONS, VALUES)
def test_evaluation_agrees_with_python(expression, values):
    assert dims.evaluate(expression.size, values) == expression.compute(values)


@given(EXPRESSIONS)
def test_text_and_parse_are_inverse(expression):
    assert parse(str(expression.size)) == expression.size


@given(EXPRESSIONS, VALUES)
def test_substituting_numbers_evaluates(expression, values):
    substituted = dims.substitute(expression.size, values)
    assert substituted == expression.compute(values)


@given(EXPRESSIONS, EXPRESSIONS)
def test_addition_and_multiplication_commute(lhs, rhs):
    assert lhs.size + rhs.size == rhs.size + lhs.size
    assert lhs.size * rhs.size == rhs.size * lhs.size


@given(EXPRESSIONS)
def test_a_size_minus_itself_is_zero(expression):
    assert expression.size - expression.size == 0


@given(EXPRESSIONS, VALUES)
def test_what_is_evidently_natural_is_so_for_all_values(expression, values):
    value = expression.compute(values)
    if dims.is_at_least_zero(expression.size, lambda name: 1):
        assert value >= 0
    if dims.is_below_zero(expression.size):
        assert value < 0


@pytest.mark.parametrize(
    ("text", "least", "is_natural"),
    [
        ("s0 - 2", 2, True),
        ("s0 - 3", 2, False),
        ("s0 + s1 - 4", 2, True),
        ("s0 - s1", 2, False),
        ("s0*s1 - s0", 1, True),
        ("(s0 - s1) // 2", 0, False),
        ("(s0 - s1) % 2", 0, True),
        ("max(s0 - s1, 0)", 0, True),
        ("min(s0, s1)", 0, True),
    ],
)
def test_evidently_natural(text, least, is_natural):
    assert dims.is_at_least_zero(parse(text), lambda name: least) == is_natural


@given(EXPRESSIONS)
def test_symbols_are_those_of_the_text(expression):
    found = dims.symbols_of(expression.size)
    assert found == {name for name in SYMBOLS if name in str(expression.size)}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("s0*2 + s0", "3*s0"),
        ("s1*s0*2", "2*s0*s1"),
        ("16*s0//16", "s0"),
        ("(4*s0 + 6)//4", "s0 + 1"),
        ("(4*s0 + s1)//4", "s0 + (s1 // 4)"),
        ("(4*s0 + 6) % 4", "2"),
        ("(s0*s1)//s1", "s0"),
        ("(2*s0 + 4)//6", "((s0 + 2) // 3)"),
        ("ceildiv(8*s0 + 3, 8)", "s0 + 1"),
        ("max(s0, 3, max(1, s1))", "max(s0, s1, 3)"),
        ("min(5, 7)", "5"),
        ("s10 + s9", "s9 + s10"),
        ("1 - s0", "-s0 + 1"),
        ("s0 - s0 + 4", "4"),
    ],
)
def test_canonical_text(text, canonical):
    assert str(parse(text)) == canonical


def test_constants_are_plain_integers():
    assert type(parse("3 * 4")) is int
    assert type(symbol("s0") - symbol("s0")) is int
    assert isinstance(parse("s0"), Dim)


@pytest.mark.parametrize(
    "text",
    ["", "s0 +", "s0 / 2", "foo(s0)", "1.5", "s0 // 0", "'x'", "True", "s0 ** 2"],
)
def test_other_texts_are_rejected(text):
    with pytest.raises(ValueError, match="expected a dim expression"):
        parse(text)


def test_a_dim_has_no_truth_value():
    with pytest.raises(TypeError, match="not known"):
        bool(symbol("s0"))


def test_a_missing_symbol_is_named():
    with pytest.raises(KeyError, match="s1"):
        dims.evaluate(parse("s0 + s1"), {"s0": 1})
