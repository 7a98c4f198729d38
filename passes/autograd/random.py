"""Derivatives of random ops: what was drawn is a constant."""

from girih.passes.autograd.rules import VjpBuilder, not_differentiable, vjp

not_differentiable(
    "it is noise", "philox", "rand", "randn", "randint", "seed", inactive=True
)
not_differentiable("eager's gradient is zeros", "bernoulli")


@vjp("dropout")
def vjp_dropout(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x * mask / (1 - p)) = mask / (1 - p)."""
    g, _ = cotangents
    kept = b.cast(op.mask, g.type.element_type)
    scale = 0.0 if op.p == 1 else 1 / (1 - op.p)
    return [b.mul(g, b.mul(kept, scale))]
