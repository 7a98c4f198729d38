"""Calls of ATen that are written out, by their names."""

from collections.abc import Callable

from girih.dialects.bindings import ir
from girih.passes.decompose import interpolation, windows
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder

_CALLS: dict[str, Callable] = {
    **dict.fromkeys(interpolation.CALLS, interpolation.interpolate),
    "aten.im2col.default": windows.im2col,
}


@decomposes("extern")
def decompose_call(op, b: GraphBuilder) -> list[ir.Value] | None:
    """Writes out the calls that have a rule, of one tensor; the others stay."""
    rule = _CALLS.get(op.op)
    if rule is None or op.kwargs or len(op.inputs) != 1:
        return None
    return rule(op, b)
