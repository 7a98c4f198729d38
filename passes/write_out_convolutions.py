"""``write-out-convolutions``: convolutions of single pixels are products of matrices.

Such a convolution multiplies the channels of each pixel by the weights. As a product it
becomes a kernel with all that follows it, and nobody copies its weights into the layout
of a library at each call.

Requires: library ops and primitives, as ``decompose`` leaves them; layouts of
convolutions are chosen.
Establishes: with ``target=cpu``, no ``graph.convolution`` of f32 images has a window of
one pixel, unless it is transposed, has groups or padding, or its channels are symbolic.
Otherwise nothing changes.

Before::

    %0 = "graph.convolution"(%x, %w) {...} :
        (tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32>) -> tensor<1x256x56x56xf32>

After, where images lie row by row::

    %0 = "graph.reshape"(%x) : (tensor<1x64x56x56xf32>) -> tensor<64x3136xf32>
    %1 = "graph.reshape"(%w) : (tensor<256x64x1x1xf32>) -> tensor<256x64xf32>
    %2 = "graph.mm"(%1, %0) : ... -> tensor<256x3136xf32>

Where their channels are innermost, pixels are the rows of the product, and the weights
its right operand. A convolution with a stride reads some of the pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import attributes as attr
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size
from girih.passes.choose_convolution_layouts import channels_innermost
from girih.passes.graph_builder import GraphBuilder, function_bodies
from girih.passes.registry import register_pass


@dataclass(frozen=True)
class ConvolutionOptions:
    """Options of the pass."""

    target: str = ""
    """``cpu``, or nothing for no change."""


@register_pass("write-out-convolutions", options=ConvolutionOptions)
def run(op: ir.Operation, options: ConvolutionOptions) -> None:
    """Replaces convolutions of single pixels."""
    if options.target != "cpu":
        return
    for block in function_bodies(op):
        for inner in [each for each in block.operations if is_of_pixels(each)]:
            _replace(inner)


def is_of_pixels(op: ir.OpView) -> bool:
    """Whether an op is a convolution whose window has one pixel."""
    if op.operation.name != "graph.convolution" or op.transposed or op.groups != 1:
        return False
    weight = ty.shape_of(op.weight.type)
    if len(weight) != 4 or str(op.x.type.element_type) != "f32":
        return False
    if tuple(op.padding) != (0, 0) or weight[2:] != (1, 1) or 0 in weight:
        return False
    sizes = (*ty.shape_of(op.x.type), *weight)
    return not any(isinstance(size, Dim) for size in sizes) and 0 not in sizes


def _has_channels_innermost(op: ir.OpView) -> bool:
    if "operand_strides" not in op.attributes:
        return False
    own = attr.LAYOUTS.decode(op.attributes["operand_strides"])[0]
    return own == channels_innermost(ty.shape_of(op.x.type))


def _replace(op: ir.OpView) -> None:
    b = GraphBuilder(op)
    channels, depth, *_ = ty.shape_of(op.weight.type)
    x, weight = _strided(op, b), b.reshape(op.weight, (channels, depth))
    make = _of_rows if _has_channels_innermost(op) else _of_columns
    y = make(b, x, weight)
    if op.bias is not None:
        y = b.op("add", y, b.reshape(op.bias, (channels, 1, 1)))
    b.replace(op, y)


def _strided(op: ir.OpView, b: GraphBuilder) -> ir.Value:
    """The pixels that a convolution reads."""
    x, y = ty.shape_of(op.x.type), ty.shape_of(op.results[0].type)
    if tuple(op.stride) == (1, 1):
        return op.x
    shape = (*x[:2], *y[2:])
    return b.typed(
        "slice",
        [op.x],
        shape,
        op.x.type.element_type,
        starts=(0, 0, 0, 0),
        steps=(1, 1, *op.stride),
    )


def _of_columns(b: GraphBuilder, x: ir.Value, weight: ir.Value) -> ir.Value:
    """Pixels are columns: images lie row by row."""
    count, depth, height, width = ty.shape_of(x.type)
    channels, pixels = ty.shape_of(weight.type)[0], height * width
    element = x.type.element_type
    if count == 1:
        y = b.op("mm", weight, b.reshape(x, (depth, pixels)))
    else:
        every = b.typed("broadcast_to", [weight], (count, channels, depth), element)
        y = b.op("bmm", every, b.reshape(x, (count, depth, pixels)))
    return b.reshape(y, (count, channels, height, width))


def _of_rows(b: GraphBuilder, x: ir.Value, weight: ir.Value) -> ir.Value:
    """Pixels are rows: channels are innermost."""
    count, depth, height, width = ty.shape_of(x.type)
    channels = ty.shape_of(weight.type)[0]
    rows: tuple[Size, ...] = (count * height * width, depth)
    x = b.reshape(b.op("permute", x, permutation=(0, 2, 3, 1)), rows)
    y = b.op("mm", x, b.op("permute", weight, permutation=(1, 0)))
    y = b.reshape(y, (count, height, width, channels))
    return b.op("permute", y, permutation=(0, 3, 1, 2))
