"""Elementwise primitives as ATen calls, most of them named by ``ATEN`` on the class."""

from girih.dialects import graph
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.graph.elementwise_classes import FloatFunction

from .rules import AtenCall, calls_aten, calls_same_arguments, dtype_of, operands

calls_same_arguments(
    {
        cls.OPERATION_NAME: f"aten.{cls.overload()}"
        for cls in graph.OPS.values()
        if cls.ATEN is not None and not issubclass(cls, FloatFunction)
    }
)


def _call_function(op: ir.OpView) -> AtenCall:
    cls = type(op)
    numbers = [getattr(op, name) for name in cls.ATTRIBUTES]
    return AtenCall(f"aten.{cls.overload()}", cls.arguments(OperandRef(0), numbers))


for _cls in graph.OPS.values():
    if issubclass(_cls, FloatFunction):
        calls_aten(_cls.OPERATION_NAME)(_call_function)

_ROUNDING_MODES = {"graph.floor_divide": "floor", "graph.trunc_divide": "trunc"}


@calls_aten(*_ROUNDING_MODES)
def call_rounded_division(op: ir.OpView) -> AtenCall:
    """`div` with a rounding mode."""
    mode = {"rounding_mode": _ROUNDING_MODES[op.name]}
    return AtenCall("aten.div.Tensor_mode", operands(op), mode)


@calls_aten("graph.cast")
def call_cast(op: ir.OpView) -> AtenCall:
    """`_to_copy` to the element type of the result."""
    dtype = {"dtype": dtype_of(op.results[0])}
    return AtenCall("aten._to_copy.default", (OperandRef(0),), dtype)
