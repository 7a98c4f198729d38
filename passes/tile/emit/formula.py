"""Formulas of ``EMIT`` on classes of ops: what kernels compute, with operators.

``formula(f, x)`` gets the operand. ``f`` has the functions of MLIR's ``math`` dialect,
``abs``, ``where`` and ``series``, which is a Chebyshev series.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    def series(self, t: Lanes, coefficients: Sequence[float]) -> Lanes:
        """c0 + c1 T1(t) + c2 T2(t) + ... with Chebyshev's polynomials.

        Source: C. W. Clenshaw, A note on the summation of Chebyshev series, 1955.
        """
        least = _LAST_DIGIT[self._element] * min(1.0, abs(coefficients[0]))
        terms = [*coefficients]
        while abs(terms[-1]) < least:
            terms.pop()
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


def rule_of(formula: Callable[..., Any]) -> Rule:
    """The emission rule that a formula says."""

    def rule(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
        element = node.element.register_name
        operands = [Lanes(b, value, element) for value in values]
        return formula(LaneFunctions(b, element), *operands).value

    return rule
