"""Derivatives of ATen calls that select elements and say where they were.

ATen's own derivative would make the selection again.
"""

from typing import Any

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import product
from girih.passes.autograd.extern import calls
from girih.passes.autograd.reduction import evenly_shared, position_is
from girih.passes.autograd.rules import VjpBuilder, follows

# ATen op -> place of the argument ``dim``, which may be left out where it is the last.
_DIM = {
    "aten.kthvalue.default": 2,
    "aten.median.dim": 1,
    "aten.mode.default": 1,
    "aten.nanmedian.dim": 1,
}


def _operand_and_dim(op) -> tuple[ir.Value, int] | None:
    """The operand and the dim, None for a call that is written in another way."""
    if len(op.inputs) != 1 or op.kwargs:
        return None
    (x,) = op.inputs
    place = _DIM[op.op]
    dim = op.args[place] if place < len(op.args) else -1
    return x, dim % max(x.type.rank, 1)


@calls(*_DIM)
def vjp_selected(op, cotangents, b: VjpBuilder) -> Any:
    """All of a row's gradient goes to the element that was selected."""
    call = _operand_and_dim(op)
    if call is None:
        return NotImplemented
    (x, dim), (g, _) = call, cotangents
    shape = ty.shape_of(x.type)
    if not shape or g is None:
        return [g]
    kept = (*shape[:dim], 1, *shape[dim + 1 :])
    index = b.reshape(op.outputs[1], kept)
    return [b.masked(position_is(b, x, index, dim), b.reshape(g, kept))]


@calls("aten.median.default", "aten.nanmedian.default")
def vjp_median(op, cotangents, b: VjpBuilder) -> Any:
    """Equal elements share the gradient."""
    (x,), (y,), (g,) = op.inputs, op.outputs, cotangents
    rank = x.type.rank
    ones = (1,) * rank
    y, g = (b.reshape(value, ones) for value in (y, g))
    return [evenly_shared(b, x, y, g, range(rank), nan_equals_nan=True)]


_MAXIMA = (
    "aten.adaptive_max_pool2d.default",
    "aten.adaptive_max_pool3d.default",
    "aten.fractional_max_pool2d.default",
    "aten.fractional_max_pool3d.default",
)
follows("inputs", *_MAXIMA)


@calls(*_MAXIMA)
def vjp_max_pool(op, cotangents, b: VjpBuilder) -> Any:
    """Each gradient is added to where its value came from, within the plane."""
    x, *rest = op.inputs
    g, _ = cotangents
    if g is None:
        return [None, *(None for _ in rest)]
    if 0 in ty.shape_of(g.type)[1:]:
        return NotImplemented  # ATen refuses some of these
    start = x.type.rank - (2 if "2d" in op.op else 3)

    def flat(shape):
        return (*shape[:start], product(shape[start:]))

    shape = ty.shape_of(x.type)
    g, index = (
        b.reshape(value, flat(ty.shape_of(value.type))) for value in (g, op.outputs[1])
    )
    zeros = b.zeros(ty.tensor_type(flat(shape), x.type.element_type))
    gradient = b.op("scatter_add", zeros, index, g, dim=start)
    return [b.reshape(gradient, shape), *(None for _ in rest)]
