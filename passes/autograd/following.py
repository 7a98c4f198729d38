"""Gradients that depend on values in ways whose derivative is zero.

The gradient of ``relu`` is ``where(y > 0, g, 0)``: a function of y, whose derivative
by y is zero. No derivative goes through the comparison, but eager's comes to y and
gives it zeros: the gradient requires a gradient, and the second backward pass leaves no
None.
"""

from girih.dialects.bindings import ir
from girih.dialects.graph.structure import YieldOp
from girih.passes.autograd.rules import VjpBuilder


def following(gradient: ir.Value, followed: ir.Value, b: VjpBuilder) -> ir.Value:
    """The gradient as a function of a value that it follows, which gets zeros."""
    op = b.make("custom_vjp", [[gradient], [gradient, followed]])
    block = op.regions[0].blocks.append(gradient.type, arg_locs=[b.loc])
    inner = VjpBuilder(ir.InsertionPoint(block), frozenset())
    zero = inner.constant(0.0, followed.type.element_type)
    YieldOp.build([[*block.arguments, zero]], loc=b.loc, ip=inner.ip)
    return op.results[0]
