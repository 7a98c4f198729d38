"""Derivatives of elementwise ops from ``GRADIENT`` on their classes.

``dialects/graph/formulas.py`` says what a formula is. Those of ``neg`` and ``relu`` are
written here: they keep bf16 and f16, and widen nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from girih.dialects import graph
from girih.dialects.bindings import ir
from girih.dialects.definition import Op
from girih.dialects.graph.formulas import Gradient, NoGradient
from girih.passes.autograd.elementwise import refuse_complex
from girih.passes.autograd.rules import (
    RULES,
    Rule,
    VjpBuilder,
    follows,
    not_differentiable,
    vjp,
)

follows("y", "relu")


class Term:
    """A value in a formula, or what the formula computes."""

    def __init__(self, b: VjpBuilder, value: ir.Value):
        self._b = b
        self.value = value

    def __add__(self, other: Term | float) -> Term:
        return self._made("add", self.value, self._operand(other))

    def __sub__(self, other: Term | float) -> Term:
        return self._made("sub", self.value, self._operand(other))

    def __rsub__(self, other: float) -> Term:
        return self._made("sub", self._operand(other), self.value)

    def __mul__(self, other: Term | float) -> Term:
        return self._made("mul", self.value, self._operand(other))

    def __truediv__(self, other: Term | float) -> Term:
        return self._made("div", self.value, self._operand(other))

    def __neg__(self) -> Term:
        return self._made("neg", self.value)

    def _made(self, name: str, *operands: ir.Value) -> Term:
        return Term(self._b, self._b.op(name, *operands))

    def _operand(self, other: Term | float) -> ir.Value:
        if isinstance(other, Term):
            return other.value
        return self._b.like(float(other), self.value)


class TermFunctions:
    """The ops of ``graph`` as functions of formulas."""

    def __init__(self, b: VjpBuilder):
        self._b = b

    def __getattr__(self, name: str) -> Callable[..., Term]:
        def function(*operands: Term | float, **attributes: Any) -> Term:
            model = next(each for each in operands[::-1] if isinstance(each, Term))
            values = [
                each.value
                if isinstance(each, Term)
                else self._b.like(each, model.value)
                for each in operands
            ]
            return Term(self._b, self._b.op(name, *values, **attributes))

        return function


def rule_of(gradient: Gradient) -> Rule:
    """The rule that a formula says."""

    def rule(op: ir.OpView, cotangents: list, b: VjpBuilder) -> list:
        refuse_complex(op)
        g = Term(b, b.widened(cotangents[0]))
        known = Term(b, b.widened(getattr(op, gradient.known)))
        attributes = {name: getattr(op, name) for name in type(op).ATTRIBUTES}
        made = gradient.formula(TermFunctions(b), g, known, **attributes)
        return [b.cast(made.value, op.x.type.element_type)]

    return rule


def _register(cls: type[Op]) -> None:
    declared = cls.GRADIENT
    if isinstance(declared, Gradient):
        RULES.add(cls.SHORT_NAME, rule_of(declared))
    elif isinstance(declared, NoGradient):
        inactive = declared.is_inactive
        not_differentiable(declared.reason, cls.SHORT_NAME, inactive=inactive)


for _cls in graph.OPS.values():
    _register(_cls)


def one_plus(b: VjpBuilder, x: ir.Value) -> ir.Value:
    """1 + x."""
    return b.add(x, b.like(1.0, x))


def one_minus(b: VjpBuilder, x: ir.Value) -> ir.Value:
    """1 - x."""
    return b.sub(b.like(1.0, x), x)


@vjp("neg")
def vjp_neg(op, cotangents, b: VjpBuilder) -> list:
    """d/dx -x = -1."""
    return [b.neg(cotangents[0])]


@vjp("relu")
def vjp_relu(op, cotangents, b: VjpBuilder) -> list:
    """d/dx max(x, 0) = 1 above 0, else 0; 1 for NaN."""
    (g,) = cotangents
    is_zero = b.op("le", op.y, b.like(0.0, op.y))
    return [b.where(is_zero, b.like(0.0, g), g)]
