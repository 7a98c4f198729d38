"""Creation ops as ATen calls."""

from girih.dialects.bindings import ir
from girih.dialects.types import shape_of

from .rules import CPU, AtenCall, calls_aten, dtype_of


@calls_aten("graph.constant", "graph.full")
def call_full(op: ir.OpView) -> AtenCall:
    """`full` of the result's shape and dtype."""
    return _filled(op, op.value)


@calls_aten("graph.size")
def call_size(op: ir.OpView) -> AtenCall:
    """A scalar tensor with the value of a dim expression."""
    return _filled(op, op.expr)


def _filled(op: ir.OpView, value: object) -> AtenCall:
    result = op.results[0]
    options = {"dtype": dtype_of(result), "device": CPU}
    return AtenCall("aten.full.default", (shape_of(result.type), value), options)


@calls_aten("graph.iota")
def call_arange(op: ir.OpView) -> AtenCall:
    """`arange`, with an end half a step after the last element."""
    result = op.results[0]
    (count,) = shape_of(result.type)
    is_whole = not isinstance(op.start, float) and not isinstance(op.step, float)
    steps = count if is_whole else count - 0.5
    end = op.start + op.step * steps
    options = {"dtype": dtype_of(result), "device": CPU}
    return AtenCall("aten.arange.start_step", (op.start, end, op.step), options)
