"""Derivatives of ATen's random ops whose results depend on their arguments.

They must not be called again, as they would draw other numbers: each derivative is made
of what was drawn.
"""

from typing import Any

from girih.dialects.attributes import ItemRef, OperandRef
from girih.passes.autograd.extern import calls
from girih.passes.autograd.indexing import call_aten
from girih.passes.autograd.rules import VjpBuilder


@calls("aten._standard_gamma.default")
def vjp_standard_gamma(op, cotangents, b: VjpBuilder) -> Any:
    """How the number that was drawn moves with the concentration."""
    (g,) = cotangents
    operands = [op.inputs[0], op.results[0]]
    arguments = [OperandRef(0), OperandRef(1)]
    name = "aten._standard_gamma_grad.default"
    return [b.mul(g, call_aten(b, name, operands, arguments, g.type))]


@calls("aten.native_dropout.default")
def vjp_native_dropout(op, cotangents, b: VjpBuilder) -> Any:
    """What was kept, scaled as it was.

    But not scaled where ``train`` is None, which eager's derivative takes for false.
    """
    g, share, train = cotangents[0], op.args[1], op.args[2]
    rest = [None] * (len(op.inputs) - 1)
    if train is False:
        return [g, *rest]
    if train is True and isinstance(share, ItemRef):
        share = b.cast(op.inputs[share.index], g.type.element_type)
        kept = b.cast(op.results[1], g.type.element_type)
        return [b.div(b.mul(g, kept), b.sub(b.like(1.0, share), share)), *rest]
    scale = 1.0
    if train is True:
        scale = 0.0 if share == 1 else 1 / (1 - share)
    arguments = [OperandRef(0), OperandRef(1), scale]
    name = "aten.native_dropout_backward.default"
    return [call_aten(b, name, [g, op.results[1]], arguments, g.type), *rest]
