"""What comes before a product: pointwise fusions that make its operands.

Where rows fit into one block, each element of the right operand is used once, so it may
as well be computed there: a dequantized or cast weight is never stored. Of a small
product, both operands may. Kernels on the CPU would compute the left one's elements one
by one, so there it may not (option ``computes_left``).
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import BIJECTIVE, ELEMENTWISE, VIEW
from girih.passes.fuse_contractions.products import LEAST_SIZE, Product
from girih.passes.graph_builder import has_one_use
from girih.passes.tile.gpu.contraction_policy import NARROW


@dataclass(frozen=True)
class Prologue:
    """A fusion of one result, and the views of it that end in a product's operand."""

    fusion: ir.OpView
    steps: tuple[ir.OpView, ...]

    def erase(self) -> None:
        """Erases the ops, which nothing reads any more."""
        for op in (*reversed(self.steps), self.fusion):
            op.operation.erase()


def prologue_of(
    product: Product, operand: ir.Value, *, computes_left: bool = True
) -> Prologue | None:
    """The prologue of one of a product's operands, if it has one that can be fused.

    Args:
        product: the product.
        operand: its left or its right operand.
        computes_left: whether left operands may have one.
    """
    if operand != product.rhs and not computes_left:
        return None
    rows = product.shape[-2]
    is_narrow = isinstance(rows, int) and rows <= NARROW and product.is_half
    is_tiny = product.fits(LEAST_SIZE)
    if not is_tiny and not (is_narrow and operand == product.rhs):
        return None
    value, steps = operand, []
    while not isinstance(value.owner, ir.Block) and has_one_use(value):
        op = value.owner.opview
        if not has(op, BIJECTIVE):
            fits = op.operation.name == "graph.fusion" and _is_pointwise(op)
            return Prologue(op, tuple(reversed(steps))) if fits else None
        steps.append(op)
        value = op.operands[0]
    return None


def is_chain(op: ir.OpView) -> bool:
    """Whether an op of a fusion is a view of an input."""
    return has(op, VIEW)


def _is_pointwise(fusion: ir.OpView) -> bool:
    """Whether a fusion computes one result, of its inputs where they stand."""
    if fusion.reduced or len(fusion.results) != 1:
        return False
    *body, _ = fusion.regions[0].blocks[0].operations
    return all(
        is_chain(op) or op.operation.name == "graph.constant" or has(op, ELEMENTWISE)
        for op in body
    )
