"""Hypothesis strategies: random sizes, and what Python computes for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from girih.dialects import dims
from girih.dialects.dims import Size, ceildiv, floordiv, mod, symbol

SYMBOLS = ("s0", "s1", "s2")
VALUES = st.fixed_dictionaries({name: st.integers(1, 50) for name in SYMBOLS})
"""What symbols may be at run time."""


@dataclass(frozen=True)
class Expression:
    """A size, and a function that computes it with plain integers."""

    size: Size
    compute: Callable[[Mapping[str, int]], int]

    def __repr__(self) -> str:
        return f"<{self.size}>"


_OPERATIONS = [
    (lambda a, b: a + b, lambda a, b: a + b),
    (lambda a, b: a - b, lambda a, b: a - b),
    (lambda a, b: a * b, lambda a, b: a * b),
    (dims.maximum, max),
    (dims.minimum, min),
]
_DIVISIONS = [
    (floordiv, lambda a, b: a // b),
    (mod, lambda a, b: a % b),
    (ceildiv, lambda a, b: -(-a // b)),
]


def _combined(operation, lhs: Expression, rhs: Expression) -> Expression:
    build, compute = operation
    return Expression(
        build(lhs.size, rhs.size), lambda v: compute(lhs.compute(v), rhs.compute(v))
    )


def _number(number: int) -> Expression:
    return Expression(number, lambda _: number)


def _symbol(name: str) -> Expression:
    return Expression(symbol(name), lambda values: values[name])


_SYMBOL = st.sampled_from(SYMBOLS).map(_symbol)
_LEAVES = st.one_of(st.integers(-20, 20).map(_number), _SYMBOL)
_DIVISORS = st.one_of(st.integers(1, 12).map(_number), _SYMBOL)
EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda parts: st.one_of(
        st.builds(_combined, st.sampled_from(_OPERATIONS), parts, parts),
        st.builds(_combined, st.sampled_from(_DIVISIONS), parts, _DIVISORS),
    ),
    max_leaves=8,
)
"""Sums, products, quotients, remainders and extrema of symbols; of either sign."""
