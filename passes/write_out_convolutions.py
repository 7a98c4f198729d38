"""``write-out-convolutions``: convolutions of pixels or of channels become kernels.

A convolution whose window is one pixel multiplies the channels of each pixel by the
weights. As a product it becomes a kernel with all that follows it, and nobody copies
its weights into the layout of a library at each call. A convolution of each channel by
itself is a sum over windows.

Requires: library ops and primitives, as ``decompose`` leaves them; layouts of
convolutions are chosen.
Establishes: with ``target=cpu``, no ``graph.convolution`` of f32 images has a window of
one pixel, unless it is transposed, has groups or padding, or its sizes are symbolic;
and none with the channels innermost has a group for each of at least 8 channels, or
small windows of at most 4 channels, unless it is transposed, or its sizes are symbolic.
Otherwise nothing changes.

Before::

    %0 = "graph.convolution"(%x, %w) {...} :
        (tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32>) -> tensor<1x256x56x56xf32>

After, where images lie row by row::

    %0 = "graph.reshape"(%x) : (tensor<1x64x56x56xf32>) -> tensor<64x3136xf32>
    %1 = "graph.reshape"(%w) : (tensor<256x64x1x1xf32>) -> tensor<256x64xf32>
    %2 = "graph.mm"(%1, %0) : ... -> tensor<256x3136xf32>

Where their channels are innermost, pixels are the rows of the product, and the weights
its right operand. A convolution with a stride reads some of the pixels. A convolution
of channels becomes::

    %0 = "graph.pad"(%x) ...
    %1 = "graph.window"(%0) {dim = 1, ...} : ...
    %2 = "graph.window"(%1) {dim = 2, ...} : ... -> tensor<1x56x56x72x3x3xf32>
    %3 = "graph.mul"(%2, %w) : ...
    %4 = "graph.reduce_sum"(%3) {dims = array<i64: 4, 5>} : ...

One of few channels is alike, with the channels among the summed dims; a library pads
the image, as the sum would compare places at each element.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import attributes as attr
from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim
from girih.passes.choose_convolution_layouts import channels_innermost
from girih.passes.graph_builder import GraphBuilder, function_bodies
from girih.passes.panels import multiply, panels_of
from girih.passes.registry import register_pass

_LEAST_CHANNELS = 8
"""With fewer, most lanes of vectors along the channels would be idle."""

_FEW_CHANNELS = 4
_SMALL_WINDOW = 64
"""Elements of a window, of all channels: of 3 x 3 x 3 to 32 channels 0.2 ms instead of
0.3. For larger windows libraries are about as fast (one thread, Zen 4, 2026-11-29)."""


@dataclass(frozen=True)
class ConvolutionOptions:
    """Options of the pass."""

    target: str = ""
    """``cpu``, or nothing for no change."""


@register_pass("write-out-convolutions", options=ConvolutionOptions)
def run(op: ir.Operation, options: ConvolutionOptions) -> None:
    """Replaces convolutions of pixels and of channels."""
    if options.target != "cpu":
        return
    for block in function_bodies(op):
        for inner in [each for each in block.operations if is_of_pixels(each)]:
            _replace(inner)
        for inner in [each for each in block.operations if is_of_channels(each)]:
            if _has_channels_innermost(inner):
                _sum_windows(inner)
        for inner in [each for each in block.operations if is_of_few(each)]:
            if _has_channels_innermost(inner):
                _sum_over_channels(inner)


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


def is_of_channels(op: ir.OpView) -> bool:
    """Whether an op is a convolution of each channel of images by itself."""
    if op.operation.name != "graph.convolution" or op.transposed:
        return False
    images, weight = (ty.shape_of(value.type) for value in (op.x, op.weight))
    if len(weight) != 4:
        return False
    sizes = (*images, *weight, *op.padding)
    if any(isinstance(size, Dim) for size in sizes) or 0 in (*images, *weight):
        return False
    is_own = op.groups == images[1] and images[1] >= _LEAST_CHANNELS
    return is_own and str(op.x.type.element_type) == "f32"


def is_of_few(op: ir.OpView) -> bool:
    """Whether an op is a convolution of images of few channels, such as colors."""
    if op.operation.name != "graph.convolution" or op.transposed or op.groups != 1:
        return False
    images, weight = (ty.shape_of(value.type) for value in (op.x, op.weight))
    if len(weight) != 4 or str(op.x.type.element_type) != "f32":
        return False
    sizes = (*images, *weight, *op.padding, *ty.shape_of(op.results[0].type))
    if any(isinstance(size, Dim) for size in sizes) or 0 in (*images, *weight):
        return False
    window = weight[1] * weight[2] * weight[3]
    is_small = weight[1] <= _FEW_CHANNELS and window <= _SMALL_WINDOW
    is_wide = weight[0] >= _LEAST_CHANNELS and sizes[-1] >= _LEAST_CHANNELS
    return is_small and is_wide and min(weight[2:]) > 1 and set(op.dilation) == {1}


def _sum_over_channels(op: ir.OpView) -> None:
    """Writes a convolution of few channels as sums over windows."""
    b = GraphBuilder(op)
    count, channels, height, width = ty.shape_of(op.x.type)
    results, _, *window = ty.shape_of(op.weight.type)
    element, x = op.x.type.element_type, op.x
    up, left = op.padding
    if (up, left) != (0, 0):
        shape = (count, channels, height + 2 * up, width + 2 * left)
        x = b.typed(
            "extern",
            [[x]],
            shape,
            element,
            op="aten.constant_pad_nd.default",
            args=(OperandRef(0), (left, left, up, up), 0.0),
        )
    _, _, high, wide = ty.shape_of(op.results[0].type)
    down, right = op.stride
    shape = (count, channels, high, ty.shape_of(x.type)[3], window[0])
    x = b.typed("window", [x], shape, element, dim=2, step=down)
    shape = (count, channels, high, wide, *window)
    x = b.typed("window", [x], shape, element, dim=3, step=right)
    x = b.op("permute", x, permutation=(0, 2, 3, 1, 4, 5))
    x = b.reshape(x, (count, high, wide, channels, *window, 1))
    weight = b.op("permute", op.weight, permutation=(1, 2, 3, 0))
    y = b.op("reduce_sum", b.op("mul", x, weight), dims=(3, 4, 5))
    y = b.reshape(y, (count, high, wide, results))
    if op.bias is not None:
        y = b.op("add", y, op.bias)
    b.replace(op, b.op("permute", y, permutation=(0, 3, 1, 2)))


def _sum_windows(op: ir.OpView) -> None:
    """Writes a convolution of channels as sums over windows."""
    b = GraphBuilder(op)
    count, groups, height, width = ty.shape_of(op.x.type)
    channels, _, rows, columns = ty.shape_of(op.weight.type)
    element = op.x.type.element_type
    x = b.op("permute", op.x, permutation=(0, 2, 3, 1))
    if channels != groups:  # several results of each channel
        x = b.reshape(x, (count, height, width, groups, 1))
        shape = (count, height, width, groups, channels // groups)
        x = b.typed("broadcast_to", [x], shape, element)
        x = b.reshape(x, (count, height, width, channels))
    up, left = op.padding
    if (up, left) != (0, 0):
        sides = (0, up, left, 0)
        shape = (count, height + 2 * up, width + 2 * left, channels)
        x = b.typed("pad", [x], shape, element, low=sides, high=sides, value=0.0)
    _, _, high, wide = ty.shape_of(op.results[0].type)
    down, right = op.stride
    # A window contains what lies between the elements that count.
    reach = [(n - 1) * d + 1 for n, d in zip((rows, columns), op.dilation, strict=True)]
    shape = (count, high, *ty.shape_of(x.type)[2:], reach[0])
    x = b.typed("window", [x], shape, element, dim=1, step=down)
    shape = (count, high, wide, channels, *reach)
    x = b.typed("window", [x], shape, element, dim=2, step=right)
    if tuple(op.dilation) != (1, 1):
        shape, steps = (count, high, wide, channels, rows, columns), (1, 1, 1, 1)
        apart = {"starts": (0,) * 6, "steps": (*steps, *op.dilation)}
        x = b.typed("slice", [x], shape, element, **apart)
    weight = b.reshape(op.weight, (channels, rows, columns))
    y = b.op("reduce_sum", b.op("mul", x, weight), dims=(4, 5))
    y = b.reshape(y, (count, high, wide, channels))
    if op.bias is not None:
        y = b.op("add", y, op.bias)
    b.replace(op, b.op("permute", y, permutation=(0, 3, 1, 2)))


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
    rows = count * height * width
    x = b.reshape(b.op("permute", x, permutation=(0, 2, 3, 1)), (rows, depth))
    panels = panels_of(weight)
    if panels is None:
        y = b.op("mm", x, b.op("permute", weight, permutation=(1, 0)))
    else:
        y = multiply(b, x, panels)
    y = b.reshape(y, (count, height, width, channels))
    return b.op("permute", y, permutation=(0, 3, 1, 2))
