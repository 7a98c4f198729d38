"""Mean and variance, accumulated in f32 where the operand is of a smaller type."""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder


def sizes_of(x: ir.Value, dims: Sequence[int]) -> list:
    """Returns the sizes of ``x`` along ``dims``."""
    shape = ty.shape_of(x.type)
    return [shape[dim] for dim in dims]


def real_element(x: ir.Value) -> ir.Type:
    """Returns the type that a count has next to ``x``."""
    return x.type.element_type


def mean_over(b: GraphBuilder, x: ir.Value, dims: Sequence[int]) -> ir.Value:
    """Returns the sum over ``dims`` divided by the count; NaN over no elements."""
    total = b.op("reduce_sum", x, dims=tuple(dims))
    return b.op("div", total, b.count(sizes_of(x, dims), real_element(x)))


def moments_over(
    b: GraphBuilder, x: ir.Value, dims: Sequence[int]
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Returns mean, x - mean and the mean of its square, in two passes.

    The mean of squared differences does not cancel as mean(x * x) - mean(x)**2 does.
    """
    mean = mean_over(b, x, dims)
    centered = b.op("sub", x, mean)
    return mean, centered, mean_over(b, b.op("mul", centered, centered), dims)


@decomposes("mean")
def decompose_mean(op, b: GraphBuilder) -> list[ir.Value]:
    """sum(x) / n."""
    y = mean_over(b, b.widened(op.x), op.dims)
    return [b.cast(y, op.y.type.element_type)]


@decomposes("var")
def decompose_var(op, b: GraphBuilder) -> list[ir.Value]:
    """sum((x - mean)**2) / max(n - correction, 0)."""
    x = b.widened(op.x)
    centered = b.op("sub", x, mean_over(b, x, op.dims))
    total = b.op("reduce_sum", b.op("mul", centered, centered), dims=op.dims)
    y = b.op("div", total, _degrees_of_freedom(op, b, x))
    return [b.cast(y, op.y.type.element_type)]


def _degrees_of_freedom(op, b: GraphBuilder, x: ir.Value) -> ir.Value:
    count = b.count(sizes_of(x, op.dims), real_element(x))
    left = b.op("sub", count, b.like(op.correction, x))
    return b.op("maximum", left, b.like(0.0, x))
