"""Calls of ATen that are written out, by their names."""

from collections.abc import Callable

from girih.dialects.bindings import ir
from girih.passes.decompose import (
    interpolation,
    linear_algebra,
    pooling_gradients,
    windows,
)
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder

_CALLS: dict[str, Callable] = {
    **dict.fromkeys(interpolation.CALLS, interpolation.interpolate),
    "aten._linalg_svd.default": linear_algebra.singular_values,
    "aten.im2col.default": windows.im2col,
}


_CALLS_OF_SEVERAL: dict[str, Callable] = {
    "aten.avg_pool2d_backward.default": pooling_gradients.avg_pool_backward,
    "aten.max_pool2d_with_indices_backward.default": (
        pooling_gradients.max_pool_backward
    ),
}


@decomposes("extern")
def decompose_call(op, b: GraphBuilder) -> list[ir.Value] | None:
    """Writes out the calls that have a rule; the others stay."""
    rule = _CALLS.get(op.op) if len(op.inputs) == 1 else _CALLS_OF_SEVERAL.get(op.op)
    return None if rule is None else rule(op, b)
