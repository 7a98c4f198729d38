"""Formulas of ``VALUE`` and ``GRADIENT`` on classes of ops, as ops of ``graph``.

``dialects/graph/formulas.py`` says what a formula is; here it gets values that make ops
when they are added, compared, or given to a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.graph_builder import GraphBuilder


class Term:
    """A value in a formula, or what the formula computes.

    Attributes:
        value: The value.
    """

    def __init__(self, b: GraphBuilder, value: ir.Value):
        self._b = b
        self.value = value

    def __add__(self, other: Term | float) -> Term:
        return self._made("add", other)

    def __sub__(self, other: Term | float) -> Term:
        return self._made("sub", other)

    def __rsub__(self, other: float) -> Term:
        return Term(self._b, self._b.op("sub", self.operand(other), self.value))

    def __mul__(self, other: Term | float) -> Term:
        return self._made("mul", other)

    def __truediv__(self, other: Term | float) -> Term:
        return self._made("div", other)

    def __rtruediv__(self, other: float) -> Term:
        return Term(self._b, self._b.op("div", self.operand(other), self.value))

    def __neg__(self) -> Term:
        return Term(self._b, self._b.op("neg", self.value))

    def __lt__(self, other: Term | float) -> Term:
        return self._made("lt", other)

    def __le__(self, other: Term | float) -> Term:
        return self._made("le", other)

    def __gt__(self, other: Term | float) -> Term:
        return self._made("gt", other)

    def __ge__(self, other: Term | float) -> Term:
        return self._made("ge", other)

    def __and__(self, other: Term) -> Term:
        return self._made("logical_and", other)

    def __or__(self, other: Term) -> Term:
        return self._made("logical_or", other)

    def operand(self, other: Term | float) -> ir.Value:
        """The value of another term, or of a number among this term's elements."""
        if isinstance(other, Term):
            return other.value
        is_float = not ty.is_integer(self.value.type.element_type)
        return self._b.like(float(other) if is_float else other, self.value)

    def _made(self, name: str, other: Term | float) -> Term:
        return Term(self._b, self._b.op(name, self.value, self.operand(other)))


class TermFunctions:
    """The ops of ``graph`` as functions of formulas.

    A number among the operands has the elements of the last term.
    """

    def __init__(self, b: GraphBuilder):
        self._b = b

    def count(self, x: Term, dims: Sequence[int]) -> Term:
        """The number of elements along dims, of x's element type."""
        shape = ty.shape_of(x.value.type)
        element = x.value.type.element_type
        return Term(self._b, self._b.count([shape[dim] for dim in dims], element))

    def __getattr__(self, name: str) -> Callable[..., Term]:
        def function(*operands: Term | float, **attributes: Any) -> Term:
            model = next(each for each in operands[::-1] if isinstance(each, Term))
            values = [model.operand(each) for each in operands]
            return Term(self._b, self._b.op(name, *values, **attributes))

        return function


def attributes_of(op: ir.OpView) -> dict[str, Any]:
    """An op's attributes, by name, as its formulas take them."""
    return {name: getattr(op, name) for name in type(op).ATTRIBUTES}
