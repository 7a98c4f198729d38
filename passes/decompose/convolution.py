"""Convolutions whose library adds the bias in a kernel of its own.

On a GPU that is cuDNN as ATen calls it. A kernel of girih adds the bias together with
all that follows. For 1 x 2560 x 4186 in f16, four taps and silu, a call of ATen took
25 us for the bias, as much again as the sum and silu together (H100, 2026-11-27).
"""

from girih.dialects import types as ty
from girih.dialects.attributes import LAYOUTS
from girih.dialects.bindings import ir
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder


@decomposes("convolution")
def decompose_convolution(op, b: GraphBuilder) -> list[ir.Value] | None:
    """On a GPU, a convolution without bias, and the sum with it."""
    if b.target != "gpu" or op.bias is None or _adds_bias_itself(op):
        return None
    attributes = {name: getattr(op, name) for name in type(op).ATTRIBUTES}
    attributes = {name: own for name, own in attributes.items() if own is not None}
    if "operand_strides" in op.attributes:
        layouts = LAYOUTS.decode(op.attributes["operand_strides"])
        attributes["operand_strides"] = LAYOUTS.encode(layouts[:2])
    shape, element = ty.shape_of(op.y.type), op.y.type.element_type
    operands = [op.x, op.weight, None]
    made = b.typed("convolution", operands, shape, element, **attributes)
    bias = b.reshape(op.bias, (shape[1], *(1,) * (len(shape) - 2)))
    return [b.op("add", made, bias)]


def _adds_bias_itself(op) -> bool:
    """Whether ATen has a kernel of its own for channels, which adds the bias."""
    shape = ty.shape_of(op.x.type)
    return len(shape) > 3 and op.groups > 1 and op.groups == shape[1]
