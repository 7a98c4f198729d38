"""Composites by ``VALUE`` on their classes; and ``clamp``."""

from girih.dialects import graph
from girih.dialects.bindings import ir
from girih.dialects.graph.formulas import Formula
from girih.passes.decompose.rules import RULES, Rule, decomposes
from girih.passes.graph_builder import GraphBuilder
from girih.passes.terms import Term, TermFunctions, attributes_of


def rule_of(formula: Formula) -> Rule:
    """The rule that a formula says: in f32 for smaller floats, and rounded once."""

    def rule(op: ir.OpView, b: GraphBuilder) -> list[ir.Value]:
        operands = [Term(b, b.widened(value)) for value in op.operands]
        made = formula(TermFunctions(b), *operands, **attributes_of(op))
        return [b.cast(made.value, op.results[0].type.element_type)]

    return rule


for _cls in graph.OPS.values():
    if _cls.VALUE is not None:
        RULES.add(_cls.SHORT_NAME, rule_of(_cls.VALUE))


@decomposes("clamp")
def decompose_clamp(op, b: GraphBuilder) -> list[ir.Value]:
    """min(max(x, low), high), so that high wins and NaN stays."""
    y, low, high = op.x, op.low, op.high
    if low is not None:
        y = b.op("maximum", y, low)
    if high is not None:
        y = b.op("minimum", y, high)
    return [y]
