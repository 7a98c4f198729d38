"""Derivatives of distances between points, which run as calls of ATen."""

from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import ItemRef, OperandRef
from girih.dialects.bindings import ir
from girih.passes.autograd.extern import calls
from girih.passes.autograd.indexing import call_aten
from girih.passes.autograd.rules import VjpBuilder


def _are_two(op) -> bool:
    """Whether the first two arguments are two operands."""
    first, second = op.args[:2]
    return first.index != second.index


@calls("aten._euclidean_dist.default")
def vjp_euclidean_dist(op, cotangents, b: VjpBuilder) -> Any:
    """d/dx = x * sum of r - r @ y, with r = g / distance, 0 where points coincide."""
    (g,), (distance,) = cotangents, op.outputs
    rank = len(ty.shape_of(g.type))
    if not _are_two(op) or rank not in (2, 3):
        return NotImplemented
    is_zero = b.op("eq", distance, b.like(0.0, distance))
    ratio = b.where(is_zero, b.like(0.0, g), b.div(g, distance))
    gradients: list[ir.Value | None] = [None, None]
    places = [argument.index for argument in op.args[:2]]
    x, y = (op.inputs[place] for place in places)
    if b.needs(x):
        total = b.sum(ratio, [rank - 1])
        gradients[places[0]] = _moved(b, x, total, ratio, y)
    if b.needs(y):
        turned = b.transpose(ratio)
        total = b.transpose(b.sum(ratio, [rank - 2]))
        gradients[places[1]] = _moved(b, y, total, turned, x)
    return gradients


def _moved(
    b: VjpBuilder, x: ir.Value, total: ir.Value, ratio: ir.Value, others: ir.Value
) -> ir.Value:
    """x * total - ratio @ others."""
    name = "mm" if len(ty.shape_of(x.type)) == 2 else "bmm"
    return b.sub(b.mul(x, total), b.op(name, ratio, others))


@calls("aten._pdist_forward.default")
def vjp_pdist(op, cotangents, b: VjpBuilder) -> Any:
    """By ATen's own op, from the distances."""
    (g,), (x, *numbers) = cotangents, op.inputs
    power = ItemRef(3) if numbers else float((*op.args, 2.0)[1])
    arguments = [OperandRef(0), OperandRef(1), power, OperandRef(2)]
    operands = [g, x, op.outputs[0], *numbers]
    name = "aten._pdist_backward.default"
    return [call_aten(b, name, operands, arguments, x.type), *(None for _ in numbers)]
