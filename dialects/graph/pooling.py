"""Pooling over the last dims of x, one entry of each list for each.

`decompose` makes reductions over windows of these library ops where it can.

Source: https://docs.pytorch.org/docs/stable/nn.functional.html#pooling-functions
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import BOOL, INT, INTS, LAYOUTS, SIZES
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size, ceildiv, floordiv
from girih.dialects.fields import attribute, operand, optional_attribute, result
from girih.dialects.graph.base import LibraryOp, expect_float, expect_tensor
from girih.dialects.rules import expect


def _pooled_shape(x: ir.Type, attributes: Mapping[str, Any]) -> tuple[Size, ...]:
    shape, spatial = expect_tensor(x, "x"), len(attributes["kernel"])
    enough = spatial <= len(shape)
    expect(enough, "kernel", f"have at most {len(shape)} entries", spatial)
    for name in ("stride", "padding", "dilation"):
        count = len(attributes.get(name, attributes["kernel"]))
        expect(count == spatial, name, f"have {spatial} entries", count)
    start = len(shape) - spatial
    sizes = [_pooled(shape[start + d], d, attributes) for d in range(spatial)]
    return (*shape[:start], *sizes)


def _pooled(size: Size, d: int, attributes: Mapping[str, Any]) -> Size:
    stride, padding = attributes["stride"][d], attributes["padding"][d]
    dilation = attributes["dilation"][d] if "dilation" in attributes else 1
    reach = size + 2 * padding - dilation * (attributes["kernel"][d] - 1) - 1
    if not attributes["ceil_mode"]:
        return floordiv(reach, stride) + 1
    count = ceildiv(reach, stride) + 1
    # The last window must start inside x or its left padding.
    if isinstance(count, Dim) or (count - 1) * stride < size + padding:
        return count
    return count - 1


class MaxPoolOp(LibraryOp, name="max_pool"):
    """y = the largest element of each window; index = where it is, within the plane.

    Kernels compute the maxima of floats where nothing uses the index.
    """

    x = operand()
    kernel = attribute(INTS)
    stride = attribute(INTS)
    padding = attribute(INTS)
    dilation = attribute(INTS)
    ceil_mode = attribute(BOOL, default=False)
    strides = optional_attribute(LAYOUTS)
    y = result()
    index = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The pooled shape, of x's elements and of ``i64``."""
        shape = _pooled_shape(types[0], attributes)
        element = types[0].element_type
        return [ty.tensor_type(shape, element), ty.tensor_type(shape, ty.i64())]


class AvgPoolOp(LibraryOp, name="avg_pool"):
    """y = the mean of each window.

    Padding counts if ``count_include_pad``; ``divisor`` 0 means the window's size.
    Kernels compute it where the divisors are known when the program is compiled.
    """

    x = operand()
    kernel = attribute(INTS)
    stride = attribute(INTS)
    padding = attribute(INTS)
    ceil_mode = attribute(BOOL, default=False)
    count_include_pad = attribute(BOOL, default=True)
    divisor = attribute(INT, default=0)
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The pooled shape."""
        shape = _pooled_shape(types[0], attributes)
        return [ty.tensor_type(shape, types[0].element_type)]


class AdaptiveAvgPoolOp(LibraryOp, name="adaptive_avg_pool"):
    """y = means of windows such that the last sizes become ``output_size``.

    Kernels compute it where all windows have one size.
    """

    x = operand()
    output_size = attribute(SIZES)
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's leading sizes and then ``output_size``."""
        shape, sizes = expect_tensor(types[0], "x"), attributes["output_size"]
        expect_float(types[0], "x")
        enough = len(sizes) <= len(shape)
        expect(enough, "output_size", f"have at most {len(shape)} entries", len(sizes))
        kept = shape[: len(shape) - len(sizes)]
        return [ty.tensor_type((*kept, *sizes), types[0].element_type)]
