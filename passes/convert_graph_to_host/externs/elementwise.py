"""Elementwise primitives as ATen calls."""

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir

from .rules import AtenCall, calls_aten, calls_same_arguments, dtype_of, operands

_UNARY = (
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_not",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "neg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
)

_BINARY = {
    "add": "add.Tensor",
    "atan2": "atan2.default",
    "bitwise_and": "bitwise_and.Tensor",
    "bitwise_or": "bitwise_or.Tensor",
    "bitwise_xor": "bitwise_xor.Tensor",
    "copysign": "copysign.Tensor",
    "div": "div.Tensor",
    "eq": "eq.Tensor",
    "fmod": "fmod.Tensor",
    "ge": "ge.Tensor",
    "gt": "gt.Tensor",
    "le": "le.Tensor",
    "logical_and": "logical_and.default",
    "logical_or": "logical_or.default",
    "logical_xor": "logical_xor.default",
    "lt": "lt.Tensor",
    "maximum": "maximum.default",
    "minimum": "minimum.default",
    "mul": "mul.Tensor",
    "ne": "ne.Tensor",
    "pow": "pow.Tensor_Tensor",
    "remainder": "remainder.Tensor",
    "shift_left": "bitwise_left_shift.Tensor",
    "shift_right": "bitwise_right_shift.Tensor",
    "sub": "sub.Tensor",
}

calls_same_arguments({f"graph.{name}": f"aten.{name}.default" for name in _UNARY})
calls_same_arguments({f"graph.{name}": f"aten.{op}" for name, op in _BINARY.items()})
calls_same_arguments({"graph.where": "aten.where.self"})

_ROUNDING_MODES = {"graph.floor_divide": "floor", "graph.trunc_divide": "trunc"}


@calls_aten(*_ROUNDING_MODES)
def call_rounded_division(op: ir.OpView) -> AtenCall:
    """`div` with a rounding mode."""
    mode = {"rounding_mode": _ROUNDING_MODES[op.name]}
    return AtenCall("aten.div.Tensor_mode", operands(op), mode)


@calls_aten("graph.sign")
def call_sign(op: ir.OpView) -> AtenCall:
    """`sgn` is `sign` for real and complex numbers alike."""
    return AtenCall("aten.sgn.default", operands(op))


@calls_aten("graph.cast")
def call_cast(op: ir.OpView) -> AtenCall:
    """`_to_copy` to the element type of the result."""
    dtype = {"dtype": dtype_of(op.results[0])}
    return AtenCall("aten._to_copy.default", (OperandRef(0),), dtype)
