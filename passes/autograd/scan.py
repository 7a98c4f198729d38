"""Derivatives of scans, sorting and selecting."""

from girih.dialects.bindings import ir
from girih.passes.autograd.rules import VjpBuilder, vjp


@vjp("cumsum")
def vjp_cumsum(op, cotangents, b: VjpBuilder) -> list:
    """The running sum from the end."""
    (g,) = cotangents
    if not op.x.type.rank:
        return [g]
    backwards = b.op("flip", g, dims=(op.dim,))
    return [b.op("flip", b.op("cumsum", backwards, dim=op.dim), dims=(op.dim,))]


@vjp("topk")
def vjp_topk(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value came from."""
    return [_scattered(op, cotangents[0], b)]


@vjp("sort")
def vjp_sort(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value came from."""
    return [_scattered(op, cotangents[0], b)]


def _scattered(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    if not op.x.type.rank:
        return g
    return b.op("scatter", b.zeros(op.x.type), op.indices, g, dim=op.dim)
