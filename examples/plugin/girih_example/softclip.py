"""A primitive: an elementwise op with a kernel on both targets, and derivatives."""

import girih
import girih_example.operators  # noqa: F401  (an operator is there before its rule)
from girih.plugins import FLOAT, attribute, expect

example = girih.plugin("example")


class SoftclipOp(example.Unary, name="softclip"):
    """y = limit * tanh(x / limit)."""

    ELEMENTS = "real float"
    INSTRUCTIONS = 12

    limit = attribute(FLOAT, default=1.0)

    def verify_invariants(self):
        """A limit of 0 would divide by it."""
        expect(self.limit > 0, "limit", "be above 0", self.limit)


@example.imports("example::softclip")
def import_softclip(b, x, limit):
    """Imports a call of the torch operator; negative limits stay with that."""
    if limit <= 0:
        return NotImplemented
    return b.op("example.softclip", [x], {"limit": limit})


@example.vjp(SoftclipOp)
def derive_softclip(op, cotangents, b):
    """``dx = dy * (1 - (y / limit)**2)``; the derivative of that follows by rule."""
    (dy,) = cotangents
    ratio = b.div(op.y, op.limit)
    slope = b.sub(b.like(1.0, ratio), b.mul(ratio, ratio))
    return [b.mul(dy, slope)]


@example.emits(SoftclipOp)
def emit_softclip(b, node, values):
    """Computes scalars or vectors with ops of MLIR's arith and math dialects."""
    limit = b.constant(node.attribute("limit"), node.element.register_name)
    ratio = b.same("arith.divf", values[0], limit)
    return b.same("arith.mulf", limit, b.same("math.tanh", ratio))


@example.canonicalizes(SoftclipOp)
def clip_once(op, b):
    """Zero stays zero: ``softclip(0)`` is its operand."""
    return op.x if b.number(op.x) == 0 else None
