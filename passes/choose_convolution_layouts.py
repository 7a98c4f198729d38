"""``choose-convolution-layouts``: images of convolutions have their channels innermost.

oneDNN computes 2-D convolutions of images that lie row by row in layouts of its own,
and each call copies its operands there and its results back. Images with the channels
innermost are taken as they are: forward and backward pass of 3 x 3 convolutions took
0.4 to 0.9 of the time (2026-11-20, AMD EPYC with AVX-512, 3 to 64 channels).

cuDNN's kernels for tensor cores take images and weights so, too: around the others it
transposes both (2 of the 8 ms of ResNet-50 in bfloat16, batch 128, on an H200). There
maxima over windows are computed in that layout, too, or their images would be turned
before and after: of a training step of the same model, 1.2 GB.

Requires: nothing; before ``autograd``, whose calls then have these layouts too.
Establishes: in functions with several convolutions of static sizes, of float32 or, on
GPUs, of floats of 16 or 32 bits, ``operand_strides`` and ``strides`` of each say so.
What is computed does not change, and results of the function lie as they did.

Before::

    %0 = "graph.convolution"(%x, %w) {...} : (tensor<8x16x32x32xf32>, ...)

After::

    %0 = "graph.convolution"(%x, %w) {operand_strides = [[16384, 1, 512, 16], ...],
        strides = [[16384, 1, 512, 16]], ...} : (tensor<8x16x32x32xf32>, ...)

It leaves a convolution alone in its function as it is: that would be copied all the
same. On the CPU it leaves those with which oneDNN would write outside of its memory
(``convolution_errors``).
"""

from collections.abc import Sequence

from girih.dialects import attributes as attr
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim
from girih.passes.convolution_errors import overruns_channels_last
from girih.passes.graph_builder import function_bodies
from girih.passes.registry import register_pass

FEWEST = 2


@register_pass("choose-convolution-layouts")
def run(op: ir.Operation, options: None) -> None:
    """Gives convolutions the layout that oneDNN is fast with."""
    for block in function_bodies(op):
        on_device = "graph.device" in block.owner.attributes
        elements = ("f32", "f16", "bf16") if on_device else ("f32",)
        found = [inner for inner in block.operations if gains(inner, elements)]
        if not on_device:
            found = [inner for inner in found if not _overruns(inner)]
        if len(found) >= FEWEST:
            for inner in found:
                choose_layouts(inner, turn_weight=on_device)
            for inner in block.operations if on_device else ():
                if _is_pooling(inner, elements):
                    _choose_pooled_layouts(inner)


def gains(op: ir.OpView, elements: Sequence[str]) -> bool:
    """Whether an op is a convolution that is faster with channels innermost."""
    if op.operation.name != "graph.convolution" or op.transposed:
        return False
    if "strides" in op.attributes or "operand_strides" in op.attributes:
        return False
    return _are_images(op.x, elements)


def _overruns(op: ir.OpView) -> bool:
    return overruns_channels_last(ty.shape_of(op.weight.type), op.stride)


def _is_pooling(op: ir.OpView, elements: Sequence[str]) -> bool:
    """Whether an op finds maxima over windows of images that lie row by row."""
    if op.operation.name != "graph.max_pool" or "operand_strides" in op.attributes:
        return False
    return "strides" not in op.attributes and _are_images(op.x, elements)


def _are_images(x: ir.Value, elements: Sequence[str]) -> bool:
    shape = ty.shape_of(x.type)
    is_static = not any(isinstance(size, Dim) for size in shape)
    return len(shape) == 4 and is_static and str(x.type.element_type) in elements


def choose_layouts(op: ir.OpView, *, turn_weight: bool) -> None:
    """Sets the strides of operands and result."""
    operands = [ty.contiguous_strides(ty.shape_of(value.type)) for value in op.operands]
    operands[0] = channels_innermost(ty.shape_of(op.x.type))
    if turn_weight:
        operands[1] = channels_innermost(ty.shape_of(op.weight.type))
    result = channels_innermost(ty.shape_of(op.results[0].type))
    op.attributes["operand_strides"] = attr.LAYOUTS.encode(tuple(operands))
    op.attributes["strides"] = attr.LAYOUTS.encode((result,))


def _choose_pooled_layouts(op: ir.OpView) -> None:
    """Sets the strides of the operand and both results."""
    operand = channels_innermost(ty.shape_of(op.x.type))
    results = [channels_innermost(ty.shape_of(value.type)) for value in op.results]
    op.attributes["operand_strides"] = attr.LAYOUTS.encode((operand,))
    op.attributes["strides"] = attr.LAYOUTS.encode(tuple(results))


def channels_innermost(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of [n, c, h, w] images that lie as [n, h, w, c]."""
    _, channels, height, width = shape
    return (channels * height * width, 1, channels * width, channels)
