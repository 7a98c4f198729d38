"""Windows along the last dims of a tensor as views, which pooling reads."""

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
