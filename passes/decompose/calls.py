"""Calls of ATen that are written out, by their names."""

from collections.abc import Callable

from girih.dialects.bindings import ir
from girih.passes.decompose import interpolation, linear_algebra, windows
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder

_CALLS: dict[str, Callable] = {
    **dict.fromkeys(interpolation.CALLS, interpolation.interpolate),
    "aten._linalg_svd.default": linear_algebra.singular_values,
    "aten.im2col.default": windows.im2col,
}


@decomposes("extern")
def decompose_call(op, b: GraphBuilder) -> list[ir.Value] | None:
    """Writes out the calls that have a rule, of one tensor; the others stay."""
    rule = _CALLS.get(op.op)
    if rule is None or len(op.inputs) != 1:
        return None
    return rule(op, b)
