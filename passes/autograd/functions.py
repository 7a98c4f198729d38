"""Derivatives of elementwise ops and reductions from ``GRADIENT`` on their classes.

``dialects/graph/formulas.py`` says what a formula is. Those of ``neg`` and ``relu`` are
written here: they keep bf16 and f16, and widen nothing.
"""

from __future__ import annotations

from girih.dialects import graph
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import Op
from girih.dialects.graph.formulas import Gradient, Gradients, NoGradient
from girih.dialects.traits import REDUCES
from girih.passes.autograd.elementwise import fitted, refuse_complex
from girih.passes.autograd.rules import (
    RULES,
    Rule,
    VjpBuilder,
    follows,
    not_differentiable,
    vjp,
)
from girih.passes.terms import Term, TermFunctions, attributes_of

follows("y", "relu")


def rule_of(gradient: Gradient) -> Rule:
    """The rule that a formula says."""

    def rule(op: ir.OpView, cotangents: list, b: VjpBuilder) -> list:
        refuse_complex(op)
        g = Term(b, b.widened(cotangents[0]))
        known = Term(b, b.widened(getattr(op, gradient.known)))
        made = gradient.formula(TermFunctions(b), g, known, **attributes_of(op))
        return [b.cast(made.value, op.x.type.element_type)]

    return rule


def rule_of_several(gradients: Gradients) -> Rule:
    """The rule that a formula of all operands says."""

    def rule(op: ir.OpView, cotangents: list, b: VjpBuilder) -> list:
        refuse_complex(op)
        g = Term(b, b.widened(cotangents[0]))
        operands = [Term(b, b.widened(value)) for value in op.operands]
        made = gradients.formula(TermFunctions(b), g, *operands, **attributes_of(op))
        return [
            fitted(b, term.value, value) if b.needs(value) else None
            for term, value in zip(made, op.operands, strict=True)
        ]

    return rule


def rule_of_reduction(gradient: Gradient) -> Rule:
    """The rule that a formula of a reduction says; what it gives broadcasts."""

    def rule(op: ir.OpView, cotangents: list, b: VjpBuilder) -> list:
        g = Term(b, b.widened(cotangents[0]))
        known = Term(b, b.widened(getattr(op, gradient.known)))
        made = gradient.formula(TermFunctions(b), g, known, **attributes_of(op))
        value = b.cast(made.value, op.x.type.element_type)
        return [b.broadcast_to(value, ty.shape_of(op.x.type))]

    return rule


def _register(cls: type[Op]) -> None:
    declared = cls.GRADIENT
    if isinstance(declared, Gradient):
        made = rule_of_reduction if REDUCES in cls.TRAITS else rule_of
        RULES.add(cls.SHORT_NAME, made(declared))
        if declared.is_followed:
            follows(declared.known, cls.SHORT_NAME)
    elif isinstance(declared, Gradients):
        RULES.add(cls.SHORT_NAME, rule_of_several(declared))
    elif isinstance(declared, NoGradient):
        inactive = declared.is_inactive
        not_differentiable(declared.reason, cls.SHORT_NAME, inactive=inactive)


for _cls in graph.OPS.values():
    _register(_cls)


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
