"""erf of float32 on NVIDIA's GPUs: half the instructions of the library's function."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.functions import LOG2_E, lower_library
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers
from girih.passes.expand_math.error_function import (
    ERF_BOUNDARY,
    ERF_LARGE,
    ERF_ONE_FROM,
    ERF_SMALL,
)

Value = ir.Value

_IS_LESS = 4


@lowers("math.erf")
def lower_erf(lowering: Lowering, op: ir.OpView) -> None:
    """x + x * p(x**2) below 0.93, 1 - 2**(-|x| (1 + q(|x|)) log2(e)) above.

    Maximal error 2 ulp, as the library's; that one chooses between coefficients.
    """
    x = lowering.new(op.operands[0])
    if lowering.library != "cuda" or element_of(x.type) != ir.F32Type.get():
        lower_library(lowering, op)
        return
    magnitude = b.same("math.absf", x)
    small = b.same("math.fma", _horner(b.same("arith.mulf", x, x), ERF_SMALL), x, x)
    large = _copysign(_large(magnitude), x)
    boundary = b.constant(x.type, ERF_BOUNDARY)
    is_small = b.compare_floats(_IS_LESS, magnitude, boundary)
    lowering.set(op, b.value("arith.select", x.type, [is_small, small, large]))


def _large(magnitude: Value) -> Value:
    """1 - erfc(x)."""
    type = magnitude.type
    # The minimum of arith is NaN where x is.
    bounded = b.same("arith.minimumf", magnitude, b.constant(type, ERF_ONE_FROM))
    first, last = ERF_LARGE[:-1], ERF_LARGE[-1]
    coefficients = [-number * LOG2_E for number in (*first, 1 + last)]
    exponent = b.same("arith.mulf", _horner(bounded, coefficients), bounded)
    complement = b.device_function("ex2.approx.ftz.f32", exponent)
    return b.same("arith.subf", b.constant(type, 1.0), complement)


def _horner(x: Value, coefficients: Sequence[float]) -> Value:
    """The polynomial in x with these coefficients, that of the highest power first."""
    result = b.constant(x.type, coefficients[0])
    for coefficient in coefficients[1:]:
        result = b.same("math.fma", result, x, b.constant(x.type, coefficient))
    return result


def _copysign(magnitude: Value, sign: Value) -> Value:
    symbol = {"symbol": "__nv_copysignf"}
    operands = [[magnitude, sign]]
    return b.make("extern_elementwise", operands, symbol, magnitude.type)
