"""A composite: girih differentiates and fuses what it is written with."""

import girih
import girih_example.operators  # noqa: F401  (an operator is there before its rule)
from girih.plugins import FLOAT, attribute

example = girih.plugin("example")


class GatedOp(example.Binary, name="gated"):
    """y = softclip(lhs, limit) * sigmoid(rhs)."""

    ELEMENTS = "real float"
    ROLE = example.Composite.ROLE

    limit = attribute(FLOAT, default=1.0)


@example.imports("example::gated")
def import_gated(b, x, gate, limit):
    """Imports a call of the torch operator."""
    return b.op("example.gated", [x, gate], {"limit": limit})


@example.decomposes(GatedOp)
def write_out(op, b):
    """One value for each result, made of ops of girih and of our own."""
    clipped = b.op("example.softclip", op.lhs, limit=op.limit)
    return [b.op("mul", clipped, b.op("sigmoid", op.rhs))]


@example.vjp(GatedOp)
def derive_gated(op, cotangents, b):
    """Gradients of both operands, summed over what they were broadcast along."""
    (dy,) = cotangents
    clipped = b.op("example.softclip", op.lhs, limit=op.limit)
    opened = b.op("sigmoid", op.rhs)
    ratio = b.div(clipped, op.limit)
    slope = b.sub(b.like(1.0, ratio), b.mul(ratio, ratio))
    opening = b.mul(opened, b.sub(b.like(1.0, opened), opened))
    return [
        b.unbroadcast(b.mul(b.mul(dy, opened), slope), op.lhs),
        b.unbroadcast(b.mul(b.mul(dy, clipped), opening), op.rhs),
    ]
