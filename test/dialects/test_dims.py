"""Dims: canonical form, text, evaluation; against Python's own integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from girih.dialects import dims
from girih.dialects.dims import Dim, ceildiv, floordiv, mod, parse, symbol

_SYMBOLS = ("s0", "s1", "s2")
_VALUES = st.fixed_dictionaries({name: st.integers(1, 50) for name in _SYMBOLS})


def _binary(name, build, compute):
    """An operation: how it is built of sizes and what Python computes."""
    return (name, build, compute)


_OPERATIONS = [
    _binary("+", lambda a, b: a + b, lambda a, b: a + b),
    _binary("-", lambda a, b: a - b, lambda a, b: a - b),
    _binary("*", lambda a, b: a * b, lambda a, b: a * b),
    _binary("max", dims.maximum, max),
    _binary("min", dims.minimum, min),
]
_DIVISIONS = [
    _binary("//", floordiv, lambda a, b: a // b),
    _binary("%", mod, lambda a, b: a % b),
    _binary("ceildiv", ceildiv, lambda a, b: -(-a // b)),
]


class _Expression:
    """A size, and a function that computes it with plain integers."""

    def __init__(self, size, compute):
        self.size = size
        self.compute = compute

    def __repr__(self):
        return f"<{self.size}>"


def _combined(operation, lhs, rhs):
    _, build, compute = operation
    return _Expression(
        build(lhs.size, rhs.size), lambda v: compute(lhs.compute(v), rhs.compute(v))
    )


_LEAVES = st.one_of(
    st.integers(-20, 20).map(lambda n: _Expression(n, lambda v: n)),
    st.sampled_from(_SYMBOLS).map(lambda s: _Expression(symbol(s), lambda v: v[s])),
)
_DIVISORS = st.one_of(
    st.integers(1, 12).map(lambda n: _Expression(n, lambda v: n)),
    st.sampled_from(_SYMBOLS).map(lambda s: _Expression(symbol(s), lambda v: v[s])),
)
_EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda parts: st.one_of(
        st.builds(_combined, st.sampled_from(_OPERATIONS), parts, parts),
        st.builds(_combined, st.sampled_from(_DIVISIONS), parts, _DIVISORS),
    ),
    max_leaves=8,
)


@given(_EXPRESSIONS, _VALUES)
def test_evaluation_agrees_with_python(expression, values):
    assert dims.evaluate(expression.size, values) == expression.compute(values)


@given(_EXPRESSIONS)
def test_text_and_parse_are_inverse(expression):
    assert parse(str(expression.size)) == expression.size


@given(_EXPRESSIONS, _VALUES)
def test_substituting_numbers_evaluates(expression, values):
    substituted = dims.substitute(expression.size, values)
    assert substituted == expression.compute(values)


@given(_EXPRESSIONS, _EXPRESSIONS)
def test_addition_and_multiplication_commute(lhs, rhs):
    assert lhs.size + rhs.size == rhs.size + lhs.size
    assert lhs.size * rhs.size == rhs.size * lhs.size


@given(_EXPRESSIONS)
def test_a_size_minus_itself_is_zero(expression):
    assert expression.size - expression.size == 0


@given(_EXPRESSIONS)
def test_symbols_are_those_of_the_text(expression):
    found = dims.symbols_of(expression.size)
    assert found == {name for name in _SYMBOLS if name in str(expression.size)}


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
