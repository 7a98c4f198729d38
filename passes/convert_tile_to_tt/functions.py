"""Functions of mathematics: Triton's own, or those of the device's library.

float16 and bfloat16 are computed in float32. Triton's own float32 logarithm, sine and
cosine are approximations for small arguments, and its exponential one whose error grows
with the argument, so the library's are called, as eager's kernels do.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of, same_shape
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers

Value = ir.Value

# Prefix and suffixes (for float32, float64) of the functions of each library.
LIBRARIES = {"cuda": ("__nv_", "f", ""), "hip": ("__ocml_", "_f32", "_f64")}

NATIVE = ("math.absf", "math.absi", "math.ceil", "math.floor", "math.fma")

# Ops whose functions have another name; 'arith.remf' is C's fmod.
LIBRARY = {
    "arith.remf": "fmod",
    "math.acos": "acos",
    "math.acosh": "acosh",
    "math.asin": "asin",
    "math.asinh": "asinh",
    "math.atan": "atan",
    "math.atan2": "atan2",
    "math.atanh": "atanh",
    "math.cbrt": "cbrt",
    "math.copysign": "copysign",
    "math.cos": "cos",
    "math.cosh": "cosh",
    "math.erfc": "erfc",
    "math.exp2": "exp2",
    "math.expm1": "expm1",
    "math.log": "log",
    "math.log10": "log10",
    "math.log1p": "log1p",
    "math.log2": "log2",
    "math.powf": "pow",
    "math.round": "round",
    "math.roundeven": "rint",
    "math.rsqrt": "rsqrt",
    "math.sin": "sin",
    "math.sinh": "sinh",
    "math.tan": "tan",
    "math.tanh": "tanh",
    "math.trunc": "trunc",
}

LOG2_E = math.log2(math.e)
_UNORDERED = 14


def in_float32(values: list[Value], compute: Callable[[list[Value]], Value]) -> Value:
    """What `compute` makes of floats of at least 32 bits."""
    type = values[0].type
    element = element_of(type)
    if not isinstance(element, ir.FloatType) or element.width >= 32:
        return compute(values)
    wide = same_shape(type, ir.F32Type.get())
    result = compute([b.value("arith.extf", wide, [value]) for value in values])
    return b.value("arith.truncf", type, [result])


@lowers(*NATIVE)
def lower_native(lowering: Lowering, op: ir.OpView) -> None:
    """The same op on tensors."""
    name = op.operation.name
    operands = lowering.all(op.operands)
    lowering.set(op, in_float32(operands, lambda values: b.same(name, *values)))


@lowers("math.exp")
def lower_exp(lowering: Lowering, op: ir.OpView) -> None:
    """The library's; where `fastmath` has `afn`, one power of 2 that flushes to 0.

    Triton's own multiplies by log2(e) and rounds: at -9 it is off by 5 units in the
    last place, at -80 by 40. What is near its limits makes angles and positions of it.
    """
    operand = lowering.new(op.operands[0])
    is_rough = lowering.library == "cuda" and b.has_fastmath(op, "afn")
    if not is_rough or not _is_f32(operand):
        lower_library(lowering, op)
        return
    factor = b.constant(operand.type, LOG2_E)
    exponent = b.same("arith.mulf", operand, factor)
    lowering.set(op, b.device_function("ex2.approx.ftz.f32", exponent))


@lowers("math.sqrt")
def lower_sqrt(lowering: Lowering, op: ir.OpView) -> None:
    """Rounded to nearest; approximate where `fastmath` has `afn`.

    Triton's own is approximate and takes subnormal numbers for 0.
    """
    is_rough = lowering.library == "cuda" and b.has_fastmath(op, "afn")

    def compute(values: list[Value]) -> Value:
        if element_of(values[0].type) != ir.F32Type.get():
            return b.same("math.sqrt", *values)
        if is_rough:
            return b.device_function("sqrt.approx.f32", *values)
        return b.make("precise_sqrt", values)

    lowering.set(op, in_float32(lowering.all(op.operands), compute))


def _is_approximate(lowering: Lowering, op: ir.OpView) -> bool:
    """Whether the device's own approximation of a function is asked for, and is there.

    Its relative error is 2**-22 for exp2 and 2**-11 for tanh.
    Source: https://docs.nvidia.com/cuda/parallel-thread-execution, ex2 and tanh.
    """
    name = op.operation.name
    if not b.has_fastmath(op, "afn"):
        return False
    known = ("math.exp2", "math.tanh") if lowering.library == "cuda" else ("math.exp2",)
    return name in known and _is_f32(lowering.new(op.operands[0]))


def _is_f32(value: Value) -> bool:
    return element_of(value.type) == ir.F32Type.get()


def _approximate(lowering: Lowering, op: ir.OpView) -> Value:
    """The device's approximation of a function."""
    operand = lowering.new(op.operands[0])
    if op.operation.name == "math.exp2":
        return b.same("math.exp2", operand)
    return b.device_function("tanh.approx.f32", operand)


@lowers(*LIBRARY)
def lower_library(lowering: Lowering, op: ir.OpView) -> None:
    """A call of the device's library."""
    if _is_approximate(lowering, op):
        lowering.set(op, _approximate(lowering, op))
        return
    name = op.operation.name

    def call(values: list[Value]) -> Value:
        return library_call(lowering, name, *values)

    lowering.set(op, in_float32(lowering.all(op.operands), call))


def library_call(lowering: Lowering, name: str, *values: Value) -> Value:
    """What the device's library computes for an op of `math`, of f32 or f64."""
    prefix, single, double = LIBRARIES[lowering.library]
    stem, type = prefix + LIBRARY.get(name, name.removeprefix("math.")), values[0].type
    suffix = single if element_of(type) == ir.F32Type.get() else double
    return b.make("extern_elementwise", [values], {"symbol": stem + suffix}, type)


@lowers("math.isnan")
def lower_isnan(lowering: Lowering, op: ir.OpView) -> None:
    """x is unordered with itself."""
    x = lowering.new(op.operands[0])
    lowering.set(op, b.compare_floats(_UNORDERED, x, x))
