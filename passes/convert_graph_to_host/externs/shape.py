"""Shape ops as ATen calls, for element types that kernels do not know."""

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.types import shape_of

from .rules import AtenCall, calls_aten, operands


@calls_aten("graph.reshape")
def call_reshape(op: ir.OpView) -> AtenCall:
    """`reshape` where no view is possible: a copy."""
    shape = shape_of(op.results[0].type)
    return AtenCall("aten.reshape.default", (OperandRef(0), shape))


@calls_aten("graph.concat")
def call_cat(op: ir.OpView) -> AtenCall:
    """`cat` of all operands."""
    return AtenCall("aten.cat.default", (operands(op), op.dim))


@calls_aten("graph.pad")
def call_pad(op: ir.OpView) -> AtenCall:
    """`constant_pad_nd`, which lists the pairs from the last dim on."""
    pairs = zip(reversed(op.low), reversed(op.high), strict=True)
    widths = tuple(width for pair in pairs for width in pair)
    return AtenCall("aten.constant_pad_nd.default", (OperandRef(0), widths, op.value))


@calls_aten("graph.flip")
def call_flip(op: ir.OpView) -> AtenCall:
    """`flip` over the same dims."""
    return AtenCall("aten.flip.default", (OperandRef(0), op.dims))
