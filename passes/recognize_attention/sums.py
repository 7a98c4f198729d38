"""Scores to which a product adds a tensor (``baddbmm``): a product, and a sum.

The sum is a part of the score function then; where no attention is found after all, it
is part of softmax's kernel.
"""

from girih.dialects.bindings import ir
from girih.passes.graph_builder import GraphBuilder
from girih.passes.recognize_attention.score import is_passed


def separate_sums(block: ir.Block) -> None:
    """Takes products apart that add a tensor and whose softmax is taken."""
    for op in list(block.operations):
        if op.operation.name == "graph.baddbmm" and _reaches_softmax(op):
            b = GraphBuilder(op)
            y = b.op("bmm", op.lhs, op.rhs)
            op.results[0].replace_all_uses_with(_sum(b, op, y))
            op.operation.erase()


def _reaches_softmax(op: ir.OpView) -> bool:
    """Whether all that is made of a value, element by element, ends in softmax."""
    pending, is_reached = [op.results[0]], False
    while pending:
        for use in pending.pop().uses:
            user = use.owner.opview
            if user.operation.name == "graph.softmax":
                is_reached = True
            elif is_passed(user):
                pending.append(user.results[0])
            else:
                return False
    return is_reached


def _sum(b: GraphBuilder, op: ir.OpView, y: ir.Value) -> ir.Value:
    """beta * bias + alpha * y; a beta of 0 leaves the bias out, whatever is in it."""
    y = _scaled(b, y, op.alpha)
    return y if op.beta == 0 else b.op("add", y, _scaled(b, op.bias, op.beta))


def _scaled(b: GraphBuilder, x: ir.Value, factor: float) -> ir.Value:
    return x if factor == 1 else b.op("mul", x, b.like(float(factor), x))
