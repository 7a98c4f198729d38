"""``canonicalize-graph``: simplifies functions of ``graph`` ops, exactly.

Merges views, folds numbers, drops what has no effect.

Requires: functions of ``graph`` ops.
Establishes: no rule of this package applies, no pure op is unused.

Before::

    %1 = "graph.reshape"(%0) : (tensor<6x4xf32>) -> tensor<24xf32>
    %2 = "graph.reshape"(%1) : (tensor<24xf32>) -> tensor<2x3x4xf32>
    %3 = "graph.mul"(%2, %one) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>

After::

    %1 = "graph.reshape"(%0) : (tensor<6x4xf32>) -> tensor<2x3x4xf32>

It changes no rounding and no NaN: what only holds for most floats is left alone. Equal
ops are merged by ``eliminate-common-subexpressions``.

Read ``rules`` first, then a family: ``elementwise``, ``casts``, ``shape``,
``reduction``, ``indexing``; ``numbers`` computes with elements.
"""

from typing import Any

from girih.dialects.bindings import ir
from girih.dialects.definition import class_of, rule_name
from girih.dialects.rule_table import RuleMistake
from girih.passes.canonicalize_graph import (
    casts,
    elementwise,
    indexing,
    reduction,
    shape,
)
from girih.passes.canonicalize_graph.rules import RULES, Facts, Simplifier
from girih.passes.graph_builder import erase_dead_ops, function_bodies
from girih.passes.registry import register_pass

__all__ = ["RULES", "casts", "elementwise", "indexing", "reduction", "run", "shape"]


@register_pass("canonicalize-graph")
def run(op: ir.Operation, options: None) -> None:
    """Simplifies functions of graph ops."""
    for block in function_bodies(op):
        simplify(block)


def simplify(block: ir.Block) -> None:
    """Simplifies the ops of a block; regions in it stay as they are."""
    erase_dead_ops(block)
    _Sweep().run(block)
    erase_dead_ops(block)


class _Sweep:
    """One pass over a block, in order, so that operands are simplified before users."""

    def __init__(self) -> None:
        self.facts = Facts()

    def run(self, block: ir.Block) -> None:
        for op in list(block.operations):
            self.visit(op)

    def visit(self, op: ir.OpView) -> None:
        """Simplifies ``op`` until no rule applies; then what a rule made, too."""
        if class_of(op) is None or len(op.results) != 1:
            return
        name = rule_name(op)
        replacement = self._simplified(op, name)
        if replacement is None:
            self.facts.record(op, name)
        else:
            op.results[0].replace_all_uses_with(replacement)
            op.operation.erase()

    def _simplified(self, op: ir.OpView, name: str) -> ir.Value | None:
        for rule in RULES.get(name, ()):
            builder = Simplifier(op, self.facts)
            replacement = rule(op, builder)
            if replacement is not None:
                _check(op, name, replacement)
                return self._visit_created(builder, replacement)
            for created in builder.created:
                self.visit(created)
        return None

    def _visit_created(self, builder: Simplifier, replacement: ir.Value) -> ir.Value:
        """Simplifies the new ops; returns what has become of the replacement."""
        # A use that outlives the visit finds the replacement of the replacement.
        anchor = ir.Operation.create(
            "graph.yield", operands=[replacement], loc=builder.loc, ip=builder.ip
        )
        for created in builder.created:
            self.visit(created)
        replacement = anchor.operands[0]
        anchor.erase()
        return replacement


def _check(op: ir.OpView, name: str, replacement: Any) -> None:
    """Checks that a rule returns a value of the result's type."""
    got = getattr(replacement, "type", replacement)
    if got != op.results[0].type:
        rule = f"expected the canonicalization of {op.operation.name} to return a value"
        text = f"{rule} of type {op.results[0].type}, or None, got {got}"
        raise RuleMistake(text, name)
