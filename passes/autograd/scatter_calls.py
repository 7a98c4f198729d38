"""Derivatives of reductions into places that an index names."""

from typing import Any

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.autograd.extern import calls
from girih.passes.autograd.rules import VjpBuilder


@calls("aten.scatter_reduce.two")
def vjp_scatter_reduce(op, cotangents, b: VjpBuilder) -> Any:
    """Extrema share the gradient with what equals them, means divide it."""
    (g,) = cotangents
    places = [op.args[0].index, op.args[2].index, op.args[3].index]
    x, index, src = (op.inputs[place] for place in places)
    dim, kind = op.args[1], op.args[4]
    is_of_index = ty.shape_of(index.type) == ty.shape_of(src.type)
    if len(set(places)) < 3 or not is_of_index or not ty.shape_of(x.type):
        return NotImplemented
    dim %= len(ty.shape_of(x.type))
    with_x = op.kwargs.get("include_self", True)
    if kind in ("amax", "amin"):
        found = _of_extremum(b, g, op.outputs[0], (x, index, src), dim)
    elif kind == "mean":
        found = _of_mean(b, g, (x, index, src), dim, with_x)
    else:
        return NotImplemented
    gradient, of_src = found
    if not with_x:
        gradient = b.op("scatter", gradient, index, b.zeros(src.type), dim=dim)
    gradients: list[ir.Value | None] = [None] * 3
    gradients[places[0]] = gradient if b.needs(x) else None
    gradients[places[2]] = of_src if b.needs(src) else None
    return gradients


def _of_extremum(
    b: VjpBuilder,
    g: ir.Value,
    result: ir.Value,
    operands: tuple[ir.Value, ir.Value, ir.Value],
    dim: int,
) -> tuple[ir.Value, ir.Value]:
    x, index, src = operands
    element = g.type.element_type
    at_source = b.op("gather", result, index, dim=dim)
    of_x = b.cast(b.op("eq", x, result), element)
    of_src = b.cast(b.op("eq", src, at_source), element)
    count = b.op("scatter_add", of_x, index, of_src, dim=dim)
    share = b.div(g, count)
    return b.mul(of_x, share), b.mul(of_src, b.op("gather", share, index, dim=dim))


def _of_mean(
    b: VjpBuilder,
    g: ir.Value,
    operands: tuple[ir.Value, ir.Value, ir.Value],
    dim: int,
    with_x: bool,
) -> tuple[ir.Value, ir.Value]:
    _, index, src = operands
    start = b.filled(1 if with_x else 0, g.type)
    count = b.op("scatter_add", start, index, b.filled(1, src.type), dim=dim)
    count = b.op("maximum", count, b.like(1.0, count))
    share = b.div(g, count)
    return share, b.op("gather", share, index, dim=dim)
