"""Derivatives of elementwise ops; operands of binary ops may be broadcast."""

from girih.passes.autograd.rules import VjpBuilder, vjp


@vjp("sin")
def vjp_sin(op, cotangents, b: VjpBuilder) -> list:
    """d/dx sin(x) = cos(x)."""
    return [b.mul(cotangents[0], b.op("cos", op.x))]


@vjp("cos")
def vjp_cos(op, cotangents, b: VjpBuilder) -> list:
    """d/dx cos(x) = -sin(x)."""
    return [b.neg(b.mul(cotangents[0], b.op("sin", op.x)))]


@vjp("neg")
def vjp_neg(op, cotangents, b: VjpBuilder) -> list:
    """d/dx -x = -1."""
    return [b.neg(cotangents[0])]


@vjp("add")
def vjp_add(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x + y) = 1; the same for y."""
    (g,) = cotangents
    return [b.unbroadcast(g, op.lhs), b.unbroadcast(g, op.rhs)]


@vjp("mul")
def vjp_mul(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x * y) = y; the same for y."""
    (g,) = cotangents
    return [
        b.unbroadcast(b.mul(g, op.rhs), op.lhs) if b.needs(op.lhs) else None,
        b.unbroadcast(b.mul(g, op.lhs), op.rhs) if b.needs(op.rhs) else None,
    ]
