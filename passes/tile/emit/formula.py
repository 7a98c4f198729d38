"""Formulas of ``EMIT`` on classes of ops: what kernels compute, with operators.

``formula(f, x)`` gets the operand, and the op's attributes by name. ``f`` has the
functions of MLIR's ``math`` dialect, ``abs``, ``where`` and ``series``, which is a
Chebyshev series.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.rules import Rule
from girih.passes.tile.nodes import ComputeNode

# The part of a series' largest term below which a type has no digits.
_LAST_DIGIT = {"f32": 2.0**-27, "f64": 0.0}


class Lanes:
    """A value in a formula; truths of comparisons are numbers, too."""

    def __init__(self, b: Builder, value: Value, element: str):
        self._b = b
        self.value = value
        self._element = element

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._made("arith.addf", self.value, self.operand(other))

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._made("arith.subf", self.value, self.operand(other))

    def __rsub__(self, other: float) -> Lanes:
        return self._made("arith.subf", self.operand(other), self.value)

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._made("arith.mulf", self.value, self.operand(other))

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._made("arith.divf", self.value, self.operand(other))

    def __rtruediv__(self, other: float) -> Lanes:
        return self._made("arith.divf", self.operand(other), self.value)

    def __neg__(self) -> Lanes:
        return self._made("arith.negf", self.value)

    def __lt__(self, other: Lanes | float) -> Lanes:
        return self._compared("olt", other)

    def __gt__(self, other: Lanes | float) -> Lanes:
        return self._compared("ogt", other)

    def equals(self, other: Lanes | float) -> Lanes:
        """Whether they are equal; false for NaN."""
        return self._compared("oeq", other)

    def operand(self, other: Lanes | float) -> Value:
        """The value of another number."""
        if isinstance(other, Lanes):
            return other.value
        return self._b.constant(float(other), self._element)

    def _compared(self, predicate: str, other: Lanes | float) -> Lanes:
        value = self._b.compare_floats(predicate, self.value, self.operand(other))
        return Lanes(self._b, value, self._element)

    def _made(self, name: str, *operands: Value) -> Lanes:
        return Lanes(self._b, self._b.same(name, *operands), self._element)


class LaneFunctions:
    """The functions of formulas."""

    def __init__(self, b: Builder, element: str):
        self._b = b
        self._element = element

    def __getattr__(self, name: str) -> Callable[..., Lanes]:
        def function(*operands: Lanes | float) -> Lanes:
            values = [operands[0].operand(each) for each in operands]
            return self._number(self._b.same(f"math.{name}", *values))

        return function

    def abs(self, x: Lanes) -> Lanes:
        """|x|."""
        return self._number(self._b.same("math.absf", x.value))

    def where(self, holds: Lanes, x: Lanes | float, y: Lanes | float) -> Lanes:
        """x where a comparison holds, else y."""
        values = [
            each.value
            if isinstance(each, Lanes)
            else self._b.constant(each, self._element)
            for each in (x, y)
        ]
        return self._number(self._b.select(holds.value, *values))

    def series(
        self, t: Lanes, coefficients: Sequence[float], times: Lanes | None = None
    ) -> Lanes:
        """c0 + c1 T1(t) + c2 T2(t) + ... with Chebyshev's polynomials.

        Args:
            t: From -1 to 1.
            coefficients: c0, c1, ...
            times: A factor of the sum; the product is rounded once.
        """
        terms = self._terms(coefficients)
        powers = _powers(terms)
        if powers is None:
            result = self._clenshaw(t, terms)
            return result if times is None else result * times
        high = _rounded(powers[0]) if self._element == "f32" else powers[0]
        rest = self._constant(powers[-1])
        for power in powers[-2:0:-1]:
            rest = self.fma(t, rest, self._constant(power))
        rest = self.fma(t, rest, self._constant(powers[0] - high))
        if times is None:
            return rest + high
        return self.fma(times, self._constant(high), times * rest)

    def _terms(self, coefficients: Sequence[float]) -> tuple[float, ...]:
        least = _LAST_DIGIT[self._element] * min(1.0, abs(coefficients[0]))
        count = len(coefficients)
        while abs(coefficients[count - 1]) < least:
            count -= 1
        return tuple(coefficients[:count])

    def _clenshaw(self, t: Lanes, terms: Sequence[float]) -> Lanes:
        """The sum where powers of t would cancel each other.

        Source: C. W. Clenshaw, A note on the summation of Chebyshev series, 1955.
        """
        twice = t + t
        last, before = self._constant(terms[-1]), self._constant(0.0)
        for term in terms[-2:0:-1]:
            rest = self._constant(term) - before
            last, before = self.fma(twice, last, rest), last
        return self.fma(t, last, self._constant(terms[0]) - before)

    def _constant(self, value: float) -> Lanes:
        return self._number(self._b.constant(value, self._element))

    def _number(self, value: Value) -> Lanes:
        return Lanes(self._b, value, self._element)


# How much larger the sum of all powers may be than that of the series.
_MOST_CANCELLATION = 3


@lru_cache
def _powers(terms: tuple[float, ...]) -> list[float] | None:
    """The same polynomial in powers of t; None where they would cancel each other."""
    powers = [Fraction(0)] * len(terms)
    now, after = [Fraction(1)], [Fraction(0), Fraction(1)]
    for term in terms:
        for power, part in enumerate(now):
            powers[power] += Fraction(term) * part
        twice = [Fraction(0), *(2 * part for part in after)]
        for power, part in enumerate(now):
            twice[power] -= part
        now, after = after, twice
    if sum(map(abs, powers)) > _MOST_CANCELLATION * sum(map(abs, terms)):
        return None
    return [float(power) for power in powers]


def _rounded(value: float) -> float:
    """The nearest float32."""
    return struct.unpack("f", struct.pack("f", value))[0]


def rule_of(formula: Callable[..., Any]) -> Rule:
    """The emission rule that a formula says."""

    def rule(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
        element = node.element.register_name
        operands = [Lanes(b, value, element) for value in values]
        names = node.op.ATTRIBUTES
        attributes = {name: node.attribute(name) for name in names}
        return formula(LaneFunctions(b, element), *operands, **attributes).value

    return rule
