"""Windows of images as views: ``im2col``, and what pooling reads."""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.graph_builder import GraphBuilder


def windows(
    b: GraphBuilder,
    x: ir.Value,
    counts: Sequence[Size],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> ir.Value:
    """All windows along the last dims of x: [..., counts..., kernel...].

    Args:
        b: Makes the ops.
        x: Large enough for the windows.
        counts: Windows along each of the last dims, outermost first; so are
            ``kernel``, ``stride`` and ``dilation``.
        kernel: Elements of a window.
        stride: How far the next window is.
        dilation: How far the next element of a window is.
    """
    first = len(ty.shape_of(x.type)) - len(counts)
    element = x.type.element_type
    values = zip(counts, kernel, stride, dilation, strict=True)
    for n, (count, length, step, distance) in enumerate(values):
        reach = distance * (length - 1) + 1
        shape = list(ty.shape_of(x.type))
        shape[first + n] = count
        attributes = {"dim": first + n, "step": step}
        x = b.typed("window", [x], (*shape, reach), element, **attributes)
        if distance > 1:
            rank = len(shape) + 1
            shape = (*shape, length)
            attributes = {
                "starts": (0,) * rank,
                "steps": (*(1,) * (rank - 1), distance),
            }
            x = b.typed("slice", [x], shape, element, **attributes)
    return x


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
