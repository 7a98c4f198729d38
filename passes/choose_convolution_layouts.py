"""``choose-convolution-layouts``: images of convolutions have their channels innermost.

oneDNN computes 2-D convolutions of images that lie row by row in layouts of its own,
and each call copies its operands there and its results back. Images with the channels
innermost are taken as they are: forward and backward pass of 3 x 3 convolutions took
0.4 to 0.9 of the time (2026-11-20, AMD EPYC with AVX-512, 3 to 64 channels). But ATen
copies their weights at each call, and whole networks took up to twice the time. So on
the CPU the driver measures, and marks by ``girih.channels_last`` what is faster.

cuDNN's kernels for tensor cores take images and weights so, too: around the others it
transposes both (2 of the 8 ms of ResNet-50 in bfloat16, batch 128, on an H200). There
maxima over windows are computed in that layout, too, or their images would be turned
before and after: of a training step of the same model, 1.2 GB.

Requires: nothing; before ``autograd``, whose calls then have these layouts too.
Establishes: ``operand_strides`` and ``strides`` say so of convolutions of static sizes:
on the CPU of those of float32 with the mark, which is gone then; on GPUs, in functions
with several, of those of floats of 16 or 32 bits.
What is computed does not change, and results of the function lie as they did.

Before::

    %0 = "graph.convolution"(%x, %w) {girih.channels_last, ...}
        : (tensor<8x16x32x32xf32>, ...)

After::

    %0 = "graph.convolution"(%x, %w) {operand_strides = [[16384, 1, 512, 16], ...],
        strides = [[16384, 1, 512, 16]], ...} : (tensor<8x16x32x32xf32>, ...)

On GPUs it leaves a convolution alone in its function as it is: that would be copied all
the same. On the CPU it leaves those with which oneDNN would write outside of its memory
(``convolution_errors``).
"""

from collections.abc import Sequence

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim
from girih.passes.convolution_errors import overruns_channels_last
from girih.passes.graph_builder import function_bodies
from girih.passes.registry import register_pass

CHANNELS_LAST = "girih.channels_last"
"""Marks convolutions that were measured to be faster so."""
FEWEST = 2
HOST_ELEMENTS = ("f32",)
DEVICE_ELEMENTS = ("f32", "f16", "bf16")


@register_pass("choose-convolution-layouts")
def run(op: ir.Operation, options: None) -> None:
    """Converts convolutions to the memory layout in which libraries are fastest."""
    for block in function_bodies(op):
        on_device = _is_on_device(block)
        found = image_calls(block)
        if not on_device:
            found = [inner for inner in found if CHANNELS_LAST in inner.attributes]
        elif len(found) < FEWEST:
            found = []
        for inner in found:
            choose_layouts(inner, turn_weight=on_device)
        for inner in block.operations if on_device and found else ():
            choose_pooled_layouts(inner, DEVICE_ELEMENTS)
        _drop_marks(block)


def image_calls(block: ir.Block) -> list[ir.OpView]:
    """The convolutions of a function that may have their channels innermost."""
    on_device = _is_on_device(block)
    elements = DEVICE_ELEMENTS if on_device else HOST_ELEMENTS
    found = [op for op in block.operations if gains(op, elements)]
    return found if on_device else [op for op in found if not _overruns(op)]


def _is_on_device(block: ir.Block) -> bool:
    return keys.DEVICE in block.owner.attributes


def _drop_marks(block: ir.Block) -> None:
    for op in block.operations:
        if CHANNELS_LAST in op.attributes:
            del op.attributes[CHANNELS_LAST]


def gains(op: ir.OpView, elements: Sequence[str]) -> bool:
    """Whether an op is a convolution of images whose layout nobody has chosen yet."""
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


def choose_pooled_layouts(op: ir.OpView, elements: Sequence[str]) -> None:
    """Sets the strides of the operand and both results of maxima over windows."""
    if not _is_pooling(op, elements):
        return
    operand = channels_innermost(ty.shape_of(op.x.type))
    results = [channels_innermost(ty.shape_of(value.type)) for value in op.results]
    op.attributes["operand_strides"] = attr.LAYOUTS.encode((operand,))
    op.attributes["strides"] = attr.LAYOUTS.encode(tuple(results))


def channels_innermost(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of [n, c, h, w] images that lie as [n, h, w, c]."""
    _, channels, height, width = shape
    return (channels * height * width, 1, channels * width, channels)
