"""Derivatives of reductions, of which the reduced dims have size 1."""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.autograd.products import products_of_others
from girih.passes.autograd.rules import VjpBuilder, vjp


def size_along(b: VjpBuilder, x: ir.Value, dims) -> ir.Value:
    """The number of elements along dims, a rank-0 tensor of x's element type."""
    shape = ty.shape_of(x.type)
    return b.count([shape[dim] for dim in dims], x.type.element_type)


def position_is(b: VjpBuilder, x: ir.Value, index: ir.Value, dim: int) -> ir.Value:
    """Whether an element of x is the one that ``index`` (size 1 in dim) names."""
    shape = ty.shape_of(x.type)
    element = index.type.element_type
    counter = b.typed("iota", [], (shape[dim],), element, start=0, step=1)
    along = (shape[dim], *(1 for _ in shape[dim + 1 :]))
    return b.op("eq", b.reshape(counter, along), index)


@vjp("reduce_sum")
def vjp_reduce_sum(op, cotangents, b: VjpBuilder) -> list:
    """d/dx sum(x) = 1."""
    return [b.broadcast_to(cotangents[0], ty.shape_of(op.x.type))]


@vjp("reduce_prod")
def vjp_reduce_prod(op, cotangents, b: VjpBuilder) -> list:
    """d/dx[i] prod(x) = the product of the others."""
    x, y, g = b.widened(op.x), b.widened(op.y), b.widened(cotangents[0])
    gradient = b.mul(products_of_others(b, x, y, op.dims), g)
    return [b.cast(gradient, op.x.type.element_type)]


@vjp("reduce_max")
def vjp_reduce_max(op, cotangents, b: VjpBuilder) -> list:
    """1 for the largest element; ``ties`` says what several ones get."""
    return [_extremum(op, cotangents[0], b, "argmax")]


@vjp("reduce_min")
def vjp_reduce_min(op, cotangents, b: VjpBuilder) -> list:
    """1 for the smallest element; ``ties`` says what several ones get."""
    return [_extremum(op, cotangents[0], b, "argmin")]


def _extremum(op, g: ir.Value, b: VjpBuilder, index_op: str) -> ir.Value:
    if op.ties == "first":
        index = _known_index(op, index_op) or b.op(index_op, op.x, dim=op.dims[0])
        return b.masked(position_is(b, op.x, index, op.dims[0]), g)
    return evenly_shared(b, op.x, op.y, g, op.dims, nan_equals_nan=op.ties == "nan")


def _known_index(op, index_op: str) -> ir.Value | None:
    """Where the element is, if the program has found that out.

    As eager then, the derivative does not read what it was chosen from.
    """
    for use in op.x.uses:
        user = use.owner
        is_index = user.name == f"graph.{index_op}" and user.dim == op.dims[0]
        here = is_index and user.operation.block == op.operation.block
        if here and user.operation.is_before_in_block(op.operation):
            return user.results[0]
    return None


def evenly_shared(
    b: VjpBuilder,
    x: ir.Value,
    y: ir.Value,
    g: ir.Value,
    dims: Sequence[int],
    *,
    nan_equals_nan: bool,
) -> ir.Value:
    """The gradient of a selected element, shared by all elements that equal it.

    Args:
        b: The builder.
        x: What was selected from.
        y: What was selected, with size 1 in ``dims``; ``g`` is its gradient.
        g: The gradient of y.
        dims: Dims of x.
        nan_equals_nan: Else no element equals a NaN, which makes all shares NaN.
    """
    chosen, wide = b.op("eq", x, y), b.widened(g)
    if nan_equals_nan:
        both = b.op("logical_and", b.op("isnan", x), b.op("isnan", y))
        chosen = b.op("logical_or", chosen, both)
    count = b.sum(b.cast(chosen, wide.type.element_type), dims)
    if nan_equals_nan:
        share = b.masked(chosen, b.div(wide, count))
    else:
        # As in eager an infinite gradient makes NaN of those that were not chosen.
        mask = b.cast(chosen, wide.type.element_type)
        share = b.div(b.mul(wide, mask), count)
    return b.cast(share, x.type.element_type)
