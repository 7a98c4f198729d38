"""Elementwise primitives: one result element from one element of each operand.

Operands broadcast as in NumPy (right-aligned) and have one element type. Each class
docstring gives the formula; ``Dtypes`` are those of the base class:

- ``FloatUnary``: real or complex floating point.
- ``NumericUnary``, ``NumericBinary``: any but bool.
- ``Comparison``, ``Predicate``: any; the result is ``i1``.
- ``LogicalUnary``, ``LogicalBinary``: ``i1`` only (cast first).
- ``BitwiseUnary``, ``BitwiseBinary``: integers and ``i1``; shifts: integers.

``GRADIENT`` is the derivative, see ``formulas``; an op without it has a rule in
``passes/autograd``. Integer arithmetic wraps around. ``Errors`` of all: operands that
are no ranked tensors, of different element types, or of shapes that do not broadcast.
``Source`` of all: https://docs.pytorch.org/docs/stable/torch.html#math-operations
"""

from collections.abc import Mapping
from math import log, pi, sqrt
from typing import Any

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.fields import operand, result
from girih.dialects.graph.base import (
    GraphOp,
    broadcast,
    element_of,
    expect_same_element,
    with_element,
)
from girih.dialects.graph.elementwise_classes import (
    Binary,
    BitwiseBinary,
    Comparison,
    FloatUnary,
    LogicalBinary,
    NumericBinary,
    NumericUnary,
    Predicate,
    RealBinary,
    RealFloatUnary,
    Rounding,
    Unary,
    expect_elements,
)
from girih.dialects.graph.formulas import (
    HAS_STEPS,
    NO_REAL_NUMBERS,
    Promotes,
    Sample,
    of_operand,
    of_result,
)
from girih.dialects.rules import expect
from girih.dialects.traits import (
    CHOOSES,
    ELEMENTWISE,
    JUMPS,
    KEEPS_DIGITS,
    MAY_FAIL,
    PASSES_DIGITS,
    TAKES_FLOAT8,
    Cost,
)

# Unary: arithmetic --------------------------------------------------------------


class AbsOp(Unary, name="abs", traits={PASSES_DIGITS}):
    """y = |x|; real part type for complex operands."""

    COST = Cost.CHEAP
    ELEMENTS = "number"

    @classmethod
    def infer_types(cls, types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type, real where it is complex."""
        element = element_of(types[0], "x")
        expect_elements(types[0], "x", cls.ELEMENTS)
        if not ty.is_complex(element):
            return [types[0]]
        return [with_element(types[0], ty.real_part(element))]

    GRADIENT = of_operand(lambda f, g, x: g * f.sign(x))


class NegOp(NumericUnary, name="neg", traits={PASSES_DIGITS}):
    """y = -x."""

    PROMOTES = Promotes.SAME
    COST = Cost.CHEAP
    ZERO_IF = (("x",),)


class SignOp(RealFloatUnary, name="sign", traits={JUMPS, KEEPS_DIGITS}):
    """y = -1, 0 or 1, the sign of x; 0 for NaN, as torch gives."""

    PROMOTES = None
    COST = Cost.CHEAP
    ELEMENTS = "real"
    ATEN = "sgn.default"
    GRADIENT = HAS_STEPS


class FloorOp(Rounding, name="floor"):
    """y = the largest integer not above x."""

    EMIT = "math.floor"


class CeilOp(Rounding, name="ceil"):
    """y = the smallest integer not below x."""

    EMIT = "math.ceil"


class RoundOp(Rounding, name="round"):
    """y = the nearest integer, halves to even."""

    EMIT = "math.roundeven"


class TruncOp(Rounding, name="trunc"):
    """y = x without its fraction."""

    EMIT = "math.trunc"


class ReluOp(Unary, name="relu", traits={CHOOSES}):
    """y = max(x, 0); NaN stays NaN."""

    PROMOTES = Promotes.SAME
    COST = Cost.CHEAP
    ELEMENTS = "real"


class ReciprocalOp(FloatUnary, name="reciprocal"):
    """y = 1 / x."""

    COST = Cost.DIVISION
    INSTRUCTIONS = 5
    GRADIENT = of_result(lambda _, g, y: -g * (y * y))


class SqrtOp(FloatUnary, name="sqrt"):
    """y = x**0.5; NaN below 0."""

    COST = Cost.DIVISION
    INSTRUCTIONS = 6
    EMIT = "math.sqrt"
    GRADIENT = of_result(lambda _, g, y: g / (y * 2))


class RsqrtOp(FloatUnary, name="rsqrt"):
    """y = x**-0.5."""

    COST = Cost.DIVISION
    INSTRUCTIONS = 10
    GRADIENT = of_result(lambda _, g, y: g * -0.5 * (y * y * y))


# Unary: exponentials and logarithms ---------------------------------------------


class ExpOp(FloatUnary, name="exp"):
    """y = e**x."""

    INSTRUCTIONS = 12
    EMIT = "math.exp"
    GRADIENT = of_result(lambda _, g, y: g * y)


class Exp2Op(RealFloatUnary, name="exp2"):
    """y = 2**x."""

    INSTRUCTIONS = 10
    EMIT = "math.exp2"
    GRADIENT = of_result(lambda _, g, y: g * y * log(2))


class Expm1Op(FloatUnary, name="expm1"):
    """y = e**x - 1, exact near 0."""

    ZERO_IF = (("x",),)
    INSTRUCTIONS = 20
    EMIT = "math.expm1"
    GRADIENT = of_result(lambda _, g, y: g * (y + 1))


class LogOp(FloatUnary, name="log"):
    """y = ln x; NaN below 0, -inf at 0."""

    INSTRUCTIONS = 18
    EMIT = "math.log"
    GRADIENT = of_operand(lambda _, g, x: g / x)


class Log2Op(FloatUnary, name="log2"):
    """y = log2 x."""

    INSTRUCTIONS = 18
    EMIT = "math.log2"
    GRADIENT = of_operand(lambda _, g, x: g / (x * log(2)))


class Log10Op(FloatUnary, name="log10"):
    """y = log10 x."""

    INSTRUCTIONS = 20
    EMIT = "math.log10"
    GRADIENT = of_operand(lambda _, g, x: g / (x * log(10)))


class Log1pOp(FloatUnary, name="log1p"):
    """y = ln(1 + x), exact near 0."""

    INSTRUCTIONS = 25
    EMIT = "math.log1p"
    GRADIENT = of_operand(lambda _, g, x: g / (x + 1))


class SigmoidOp(FloatUnary, name="sigmoid"):
    """y = 1 / (1 + e**-x)."""

    INSTRUCTIONS = 16
    GRADIENT = of_result(lambda _, g, y: g * ((1 - y) * y))


class ErfOp(RealFloatUnary, name="erf"):
    """y = 2 / sqrt(pi) * the integral of e**(-t*t) from 0 to x."""

    INSTRUCTIONS = 25
    EMIT = "math.erf"
    GRADIENT = of_operand(lambda f, g, x: f.exp(-(x * x)) * (2 / sqrt(pi)) * g)


class ErfcOp(RealFloatUnary, name="erfc"):
    """y = 1 - erf(x), exact for large x."""

    INSTRUCTIONS = 30
    EMIT = "math.erfc"
    GRADIENT = of_operand(lambda f, g, x: f.exp(-(x * x)) * (-2 / sqrt(pi)) * g)


# Unary: trigonometric and hyperbolic --------------------------------------------


class SinOp(FloatUnary, name="sin"):
    """y = sin x."""

    INSTRUCTIONS = 30
    EMIT = "math.sin"
    GRADIENT = of_operand(lambda f, g, x: g * f.cos(x))


class CosOp(FloatUnary, name="cos"):
    """y = cos x."""

    INSTRUCTIONS = 30
    EMIT = "math.cos"
    GRADIENT = of_operand(lambda f, g, x: -(g * f.sin(x)))


class TanOp(FloatUnary, name="tan"):
    """y = tan x."""

    INSTRUCTIONS = 35
    EMIT = "math.tan"
    GRADIENT = of_result(lambda _, g, y: g * (y * y + 1))


class AsinOp(FloatUnary, name="asin"):
    """y = asin x; NaN outside [-1, 1]."""

    INSTRUCTIONS = 25
    EMIT = "math.asin"
    GRADIENT = of_operand(lambda f, g, x: g * f.rsqrt(1 - x * x))


class AcosOp(FloatUnary, name="acos"):
    """y = acos x; NaN outside [-1, 1]."""

    INSTRUCTIONS = 25
    EMIT = "math.acos"
    GRADIENT = of_operand(lambda f, g, x: g * -f.rsqrt(1 - x * x))


class AtanOp(FloatUnary, name="atan"):
    """y = atan x."""

    INSTRUCTIONS = 25
    EMIT = "math.atan"
    GRADIENT = of_operand(lambda _, g, x: g / (x * x + 1))


class SinhOp(FloatUnary, name="sinh"):
    """y = (e**x - e**-x) / 2."""

    INSTRUCTIONS = 25
    EMIT = "math.sinh"
    GRADIENT = of_operand(lambda f, g, x: g * f.cosh(x))


class CoshOp(FloatUnary, name="cosh"):
    """y = (e**x + e**-x) / 2."""

    INSTRUCTIONS = 25
    EMIT = "math.cosh"
    GRADIENT = of_operand(lambda f, g, x: g * f.sinh(x))


class TanhOp(FloatUnary, name="tanh"):
    """y = (e**x - e**-x) / (e**x + e**-x)."""

    INSTRUCTIONS = 20
    EMIT = "math.tanh"
    GRADIENT = of_result(lambda _, g, y: g * (1 - y * y))


class AsinhOp(FloatUnary, name="asinh"):
    """y = ln(x + sqrt(x*x + 1))."""

    INSTRUCTIONS = 40
    GRADIENT = of_operand(lambda f, g, x: g * f.rsqrt(x * x + 1))


class AcoshOp(FloatUnary, name="acosh"):
    """y = ln(x + sqrt(x*x - 1)); NaN below 1."""

    SAMPLE = Sample(1.2, 9)
    INSTRUCTIONS = 40
    GRADIENT = of_operand(lambda f, g, x: g * f.rsqrt(x * x - 1))


class AtanhOp(FloatUnary, name="atanh"):
    """y = ln((1 + x) / (1 - x)) / 2; NaN outside [-1, 1]."""

    INSTRUCTIONS = 40
    EMIT = "math.atanh"
    GRADIENT = of_operand(lambda _, g, x: g / (1 - x * x))


# Unary: predicates, logic, bits -------------------------------------------------


class IsnanOp(Predicate, name="isnan"):
    """y = x is NaN."""


class IsinfOp(Predicate, name="isinf", traits={JUMPS}):
    """y = x is infinite."""


class IsfiniteOp(Predicate, name="isfinite", traits={JUMPS}):
    """y = x is neither NaN nor infinite."""


class LogicalNotOp(Unary, name="logical_not", traits={JUMPS}):
    """y = not x."""

    PROMOTES = Promotes.TRUTHS
    COST = Cost.CHEAP
    ELEMENTS = "bool"
    GRADIENT = NO_REAL_NUMBERS


class BitwiseNotOp(Unary, name="bitwise_not"):
    """y = x with all bits flipped; logical not for bools."""

    COST = Cost.CHEAP
    ELEMENTS = "bits"
    GRADIENT = NO_REAL_NUMBERS


# Binary: arithmetic -------------------------------------------------------------


class AddOp(NumericBinary, name="add"):
    """y = lhs + rhs."""

    COST = Cost.CHEAP
    ZERO_IF = (("lhs", "rhs"),)


class SubOp(NumericBinary, name="sub"):
    """y = lhs - rhs."""

    COST = Cost.CHEAP
    ZERO_IF = (("lhs", "rhs"),)


class MulOp(NumericBinary, name="mul"):
    """y = lhs * rhs."""

    COST = Cost.CHEAP
    ZERO_IF = (("lhs",), ("rhs",))


class DivOp(Binary, name="div", traits={MAY_FAIL}):
    """y = lhs / rhs, for floats (the importer casts integers first)."""

    COST = Cost.DIVISION
    INSTRUCTIONS = 5
    ZERO_IF = (("lhs",),)
    ELEMENTS = "float"


class FloorDivideOp(RealBinary, name="floor_divide", traits={JUMPS, MAY_FAIL}):
    """y = floor(lhs / rhs); an integer divided by 0 raises eager's error."""

    COST = Cost.DIVISION
    INSTRUCTIONS = 20
    ATEN = None
    GRADIENT = HAS_STEPS


class TruncDivideOp(
    RealBinary, name="trunc_divide", traits={JUMPS, KEEPS_DIGITS, MAY_FAIL}
):
    """y = trunc(lhs / rhs); an integer divided by 0 raises eager's error."""

    COST = Cost.DIVISION
    INSTRUCTIONS = 20
    ATEN = None
    GRADIENT = HAS_STEPS


class RemainderOp(RealBinary, name="remainder", traits={JUMPS, MAY_FAIL}):
    """y = lhs - floor(lhs / rhs) * rhs: the sign of rhs, as Python's %."""

    COST = Cost.DIVISION
    INSTRUCTIONS = 20


class FmodOp(RealBinary, name="fmod", traits={JUMPS, MAY_FAIL}):
    """y = lhs - trunc(lhs / rhs) * rhs: the sign of lhs, as C's fmod."""

    COST = Cost.DIVISION
    INSTRUCTIONS = 20


class PowOp(NumericBinary, name="pow", traits={MAY_FAIL}):
    """y = lhs ** rhs; integers wrap, negative exponents give 0 unless |lhs| is 1."""

    INSTRUCTIONS = 40
    ATEN = "pow.Tensor_Tensor"


class CopysignOp(Binary, name="copysign"):
    """y = |lhs| with the sign of rhs."""

    PROMOTES = Promotes.TO_FLOAT
    COST = Cost.CHEAP
    ELEMENTS = "real float"


class MaximumOp(RealBinary, name="maximum", traits={CHOOSES}):
    """y = the larger; NaN if either is."""

    COST = Cost.CHEAP
    ATEN = "default"


class MinimumOp(RealBinary, name="minimum", traits={CHOOSES}):
    """y = the smaller; NaN if either is."""

    COST = Cost.CHEAP
    ATEN = "default"


# Binary: comparison, logic, bits ------------------------------------------------


class EqOp(Comparison, name="eq"):
    """y = (lhs == rhs)."""

    ELEMENTS = "any"


class NeOp(Comparison, name="ne"):
    """y = (lhs != rhs); true for NaN."""

    ELEMENTS = "any"


class LtOp(Comparison, name="lt"):
    """y = (lhs < rhs)."""


class LeOp(Comparison, name="le"):
    """y = (lhs <= rhs)."""


class GtOp(Comparison, name="gt"):
    """y = (lhs > rhs)."""


class GeOp(Comparison, name="ge"):
    """y = (lhs >= rhs)."""


class LogicalAndOp(LogicalBinary, name="logical_and"):
    """y = lhs and rhs."""


class LogicalOrOp(LogicalBinary, name="logical_or"):
    """y = lhs or rhs."""


class LogicalXorOp(LogicalBinary, name="logical_xor"):
    """y = (lhs != rhs)."""


class BitwiseAndOp(BitwiseBinary, name="bitwise_and"):
    """y = lhs & rhs."""


class BitwiseOrOp(BitwiseBinary, name="bitwise_or"):
    """y = lhs | rhs."""


class BitwiseXorOp(BitwiseBinary, name="bitwise_xor"):
    """y = lhs ^ rhs."""


class ShiftLeftOp(Binary, name="shift_left"):
    """y = lhs << rhs; 0 where rhs is negative or not below the width."""

    COST = Cost.CHEAP
    ELEMENTS = "integer"
    ATEN = "bitwise_left_shift.Tensor"
    GRADIENT = NO_REAL_NUMBERS


class ShiftRightOp(Binary, name="shift_right"):
    """y = lhs >> rhs, arithmetic for signed; a rhs out of range shifts all bits out."""

    COST = Cost.CHEAP
    ELEMENTS = "integer"
    ATEN = "bitwise_right_shift.Tensor"
    GRADIENT = NO_REAL_NUMBERS


# Other --------------------------------------------------------------------------


class WhereOp(GraphOp, name="where", traits={CHOOSES, ELEMENTWISE, TAKES_FLOAT8}):
    """y = a where cond, else b.

    Operands: cond of ``i1``; a and b of one element type; all three broadcast.
    """

    ATEN = "where.self"
    COST = Cost.CHEAP
    ZERO_IF = (("a", "b"),)

    cond = operand()
    a = operand()
    b = operand()
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The broadcast shape with the element type of a and b."""
        cond, a, b = types
        expect_same_element(cond, "cond", ty.i1())
        expect_same_element(b, "b", element_of(a, "a"))
        shape = broadcast(types, ("cond", "a", "b"))
        return [ty.tensor_type(shape, a.element_type)]


class CastOp(
    GraphOp, name="cast", traits={ELEMENTWISE, JUMPS, KEEPS_DIGITS, TAKES_FLOAT8}
):
    """y = x converted to the result's element type, as ``Tensor.to`` does.

    To bool: x != 0. Floats to integers truncate. Result types are given when built.
    """

    COST = Cost.CHEAP
    ZERO_IF = (("x",),)

    x = operand()
    y = result()

    def verify_invariants(self) -> None:
        """Checks that the shape stays."""
        x, y = self.x.type, self.y.type
        element = element_of(y, "y")
        expected = with_element(x, element)
        expect(expected == y, "y", f"have type {expected}", y)
