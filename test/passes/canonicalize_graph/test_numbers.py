"""Numbers as elements of a type, against torch."""

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from girih.passes.canonicalize_graph.numbers import (
    compute,
    convert,
    holds_all,
    is_negative_zero,
    is_power_of_two,
)

DTYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i1": torch.bool,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "i8": torch.int8,
    "ui8": torch.uint8,
}
FLOATS = ("bf16", "f16", "f32", "f64")
INTEGERS = ("i16", "i32", "i64", "i8", "ui8")

floats = st.floats(allow_nan=False, width=64)
integers = st.integers(-(2**63), 2**63 - 1)


def equal(actual, expected):
    if isinstance(expected, float) and math.isnan(expected):
        return math.isnan(actual)
    same_sign = math.copysign(1, actual) == math.copysign(1, expected)
    return actual == expected and (same_sign or actual != 0)


@given(st.sampled_from(FLOATS), floats)
def test_rounding(element, value):
    if element == "bf16":  # torch.tensor rounds twice, as girih says it does
        expected = torch.tensor(value, dtype=torch.float32).bfloat16().item()
    else:
        expected = torch.tensor(value, dtype=torch.float64).to(DTYPES[element]).item()
    assert equal(convert(value, element), expected)


@given(st.sampled_from(INTEGERS), integers)
def test_wrapping(element, value):
    expected = torch.tensor(value, dtype=torch.int64).to(DTYPES[element]).item()
    assert convert(value, element) == expected


@given(st.sampled_from(("add", "sub", "mul", "maximum", "minimum")), integers, integers)
def test_integer_arithmetic(name, lhs, rhs):
    for element in INTEGERS:
        operands = [torch.tensor(v).to(DTYPES[element]) for v in (lhs, rhs)]
        assert (
            compute(name, element, lhs, rhs) == getattr(torch, name)(*operands).item()
        )


@given(
    st.sampled_from(("add", "sub", "mul", "div", "maximum", "minimum")), floats, floats
)
def test_float_arithmetic(name, lhs, rhs):
    for element in ("f32", "f64", "bf16"):
        x, y = (convert(value, element) for value in (lhs, rhs))
        assume(math.isfinite(x) and math.isfinite(y))
        if name == "div" and y == 0:
            assert compute(name, element, x, y) is None
            continue
        operands = [torch.tensor(v, dtype=DTYPES[element]) for v in (x, y)]
        expected = getattr(torch, name)(*operands).item()
        assert compute(name, element, x, y) == expected


@given(st.sampled_from(sorted(DTYPES)), st.sampled_from(sorted(DTYPES)), integers)
def test_types_that_hold_all_values(narrow, wide, value):
    assume(holds_all(narrow, wide))
    x = torch.tensor(value).to(DTYPES[narrow])
    back = x.to(DTYPES[wide]).to(DTYPES[narrow])
    assert torch.equal(x, back)


@pytest.mark.parametrize(
    "narrow, wide, holds",
    [
        ("f32", "f64", True),
        ("bf16", "f16", False),
        ("f16", "bf16", False),
        ("i8", "bf16", True),
        ("i16", "bf16", False),
        ("i32", "f32", False),
        ("i32", "f64", True),
        ("ui8", "i8", False),
        ("ui8", "i16", True),
        ("i8", "ui16", False),
        ("i1", "ui8", True),
        ("f32", "i64", False),
        ("i8", "i1", False),
    ],
)
def test_some_types(narrow, wide, holds):
    assert holds_all(narrow, wide) is holds


def test_undefined_conversions():
    assert convert(math.nan, "i32") is None
    assert convert(1e30, "i32") is None
    assert convert(1e30, "f16") == math.inf
    assert compute("add", "complex<f32>", 1, 2) is None


def test_predicates():
    assert is_power_of_two(0.5) and is_power_of_two(-4.0)
    assert not any(map(is_power_of_two, (0.0, 3.0, math.inf, math.nan, 2, 2.0**40)))
    assert is_negative_zero(-0.0) and not is_negative_zero(0.0)
