"""Reductions: dims of size 1, nested reductions of one kind."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.canonicalize_graph.rules import Simplifier, canonicalizes
from girih.passes.graph_builder import has_one_use

_REDUCTIONS = (
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
)


def _name(op: ir.OpView) -> str:
    return op.operation.name.removeprefix("graph.")


@canonicalizes(*_REDUCTIONS)
def drop_unit_dims(op, b: Simplifier) -> ir.Value | None:
    """Reducing a dim of size 1 changes nothing."""
    shape, dims = ty.shape_of(op.x.type), op.dims
    kept = tuple(dim for dim in dims if shape[dim] != 1)
    if len(kept) == len(dims) > 0:
        return None
    return b.op(_name(op), op.x, dims=kept) if kept else op.x


@canonicalizes("argmax", "argmin")
def fold_position_in_unit_dim(op, b: Simplifier) -> ir.Value | None:
    """The only element is the extremal one."""
    if ty.shape_of(op.x.type)[op.dim] != 1:
        return None
    return b.filled(0, op.y.type)


@canonicalizes(*_REDUCTIONS)
def merge_reductions(op, b: Simplifier) -> ir.Value | None:
    """A reduction of a reduction reduces the dims of both at once.

    Sums and products of small floats stay, since the inner one rounds.
    """
    inner = b.producer(op.x, _name(op))
    if inner is None or not has_one_use(op.x):
        return None
    rounds = _name(op) in ("reduce_sum", "reduce_prod")
    if rounds and str(op.x.type.element_type) in ("bf16", "f16"):
        return None
    return b.op(_name(op), inner.x, dims=tuple(sorted({*op.dims, *inner.dims})))
