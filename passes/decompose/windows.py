"""The windows of images as columns."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.graph_builder import GraphBuilder
from girih.passes.window_views import windows


def im2col(op, b: GraphBuilder) -> list[ir.Value] | None:
    """The windows of each image as columns; None for images of unknown sizes."""
    (x,) = op.inputs
    _, *numbers = op.args
    shape, result = ty.shape_of(x.type), op.outputs[0].type
    *before, channels, height, width = shape
    given = [height, width, *(n for numbers_ in numbers for n in numbers_)]
    if op.kwargs or not all(isinstance(n, int) for n in given):
        return None
    kernel, dilation, padding, stride = numbers
    margins = (*(0,) * (len(shape) - 2), *padding)
    padded = x
    if any(padding):
        zero = False if ty.is_bool(x.type.element_type) else 0
        padded = b.op("pad", x, low=margins, high=margins, value=zero)
    reaches = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    sizes = ty.shape_of(padded.type)[-2:]
    counts = [
        (size - reach) // step + 1
        for size, reach, step in zip(sizes, reaches, stride, strict=True)
    ]
    found = windows(b, padded, counts, kernel, stride, dilation)
    outer = len(before) + 1  # images and channels; then windows, then their elements
    order = (*range(outer), outer + 2, outer + 3, outer, outer + 1)
    shape = (*before, channels, *kernel, *counts)
    element = x.type.element_type
    turned = b.typed("permute", [found], shape, element, permutation=order)
    return [b.reshape(turned, ty.shape_of(result))]
