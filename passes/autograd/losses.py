"""Derivatives of losses that run as calls of ATen, which check their arguments."""

from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.passes.autograd.extern import calls
from girih.passes.autograd.functions import one_minus
from girih.passes.autograd.indexing import call_aten
from girih.passes.autograd.rules import VjpBuilder

_MEAN = 1

# ATen's bound on what the gradient is divided by.
_SMALLEST = 1e-12


@calls("aten.binary_cross_entropy.default")
def vjp_binary_cross_entropy(op, cotangents, b: VjpBuilder) -> Any:
    """d/dx = (x - t) / (x * (1 - x)); d/dt = ln(1 - x) - ln x; times the weight."""
    places = [argument.index for argument in op.args[:2]]
    if op.kwargs or places[0] == places[1]:
        return NotImplemented
    weight, reduction = (op.args[2:] + (None, 1)[len(op.args) - 2 :])[:2]
    x, target = (b.widened(op.inputs[place]) for place in places)
    g = b.widened(cotangents[0])
    if weight is not None:
        g = b.mul(g, b.widened(op.inputs[weight.index]))
    if reduction == _MEAN:
        g = b.div(g, b.count(ty.shape_of(x.type), x.type.element_type))
    gradients: list[ir.Value | None] = [None] * len(op.inputs)
    for place, slope in zip(places, (_by_probability, _by_target), strict=True):
        operand = op.inputs[place]
        if b.needs(operand):
            gradient = b.unbroadcast(b.mul(g, slope(x, target, b)), operand)
            gradients[place] = b.cast(gradient, operand.type.element_type)
    return gradients


def _by_probability(x: ir.Value, target: ir.Value, b: VjpBuilder) -> ir.Value:
    product = b.mul(one_minus(b, x), x)
    bounded = b.make("clamp", [product, b.like(_SMALLEST, x), None]).results[0]
    return b.div(b.sub(x, target), bounded)


def _by_target(x: ir.Value, target: ir.Value, b: VjpBuilder) -> ir.Value:
    return b.sub(b.op("log", one_minus(b, x)), b.op("log", x))


@calls("aten.multi_margin_loss.default")
def vjp_multi_margin_loss(op, cotangents, b: VjpBuilder) -> Any:
    """By ATen's own op; the class of a row gets none."""
    x, target = op.args[:2]
    if op.kwargs or x.index == target.index:
        return NotImplemented
    given = (*op.args[2:], *(1, 1, None, _MEAN)[len(op.args) - 2 :])
    operands = [*op.inputs, cotangents[0]]
    arguments = [OperandRef(len(op.inputs)), x, target, *given]
    name = "aten.multi_margin_loss_backward.default"
    gradients: list[ir.Value | None] = [None] * len(op.inputs)
    type_ = op.inputs[x.index].type
    gradients[x.index] = call_aten(b, name, operands, arguments, type_)
    return gradients
