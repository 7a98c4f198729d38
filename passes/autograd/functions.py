"""Derivatives of elementwise functions of one operand.

A formula takes the cotangent and the function's operand or its result, whichever eager
keeps. It has bf16 and f16 widened to f32; the gradient is rounded once.
"""

from collections.abc import Callable
from math import log, pi, sqrt

from girih.dialects.bindings import ir
from girih.passes.autograd.elementwise import refuse_complex
from girih.passes.autograd.rules import VjpBuilder, follows, not_differentiable, vjp

Formula = Callable[[VjpBuilder, ir.Value, ir.Value], ir.Value]

not_differentiable(
    "it has whole steps: the derivative is 0 wherever there is one",
    "ceil",
    "floor",
    "round",
    "sign",
    "trunc",
)
follows("y", "relu")
not_differentiable(
    "its results are no real numbers",
    "bitwise_not",
    "isfinite",
    "isinf",
    "isnan",
    "logical_not",
)


def of_operand(name: str) -> Callable[[Formula], Formula]:
    """Registers ``formula(b, g, x)``, the gradient by the operand x of ``name``."""
    return _registrar(name, lambda op: op.x)


def of_result(name: str) -> Callable[[Formula], Formula]:
    """Registers ``formula(b, g, y)``, the gradient in terms of the result y."""
    return _registrar(name, lambda op: op.y)


def _registrar(
    name: str, known: Callable[[ir.OpView], ir.Value]
) -> Callable[[Formula], Formula]:
    def register(formula: Formula) -> Formula:
        @vjp(name)
        def rule(op, cotangents, b: VjpBuilder) -> list:
            refuse_complex(op)
            g, value = b.widened(cotangents[0]), b.widened(known(op))
            return [b.cast(formula(b, g, value), op.x.type.element_type)]

        return formula

    return register


def one_plus(b: VjpBuilder, x: ir.Value) -> ir.Value:
    """1 + x."""
    return b.add(x, b.like(1.0, x))


def one_minus(b: VjpBuilder, x: ir.Value) -> ir.Value:
    """1 - x."""
    return b.sub(b.like(1.0, x), x)


# Arithmetic -------------------------------------------------------------------------


@of_operand("abs")
def vjp_abs(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx |x| = sign(x), 0 at 0."""
    return b.mul(g, b.op("sign", x))


@vjp("neg")
def vjp_neg(op, cotangents, b: VjpBuilder) -> list:
    """d/dx -x = -1."""
    return [b.neg(cotangents[0])]


@vjp("relu")
def vjp_relu(op, cotangents, b: VjpBuilder) -> list:
    """d/dx max(x, 0) = 1 above 0, else 0; 1 for NaN."""
    (g,) = cotangents
    is_zero = b.op("le", op.y, b.like(0.0, op.y))
    return [b.where(is_zero, b.like(0.0, g), g)]


@of_result("reciprocal")
def vjp_reciprocal(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx 1/x = -y*y."""
    return b.mul(b.neg(g), b.mul(y, y))


@of_result("sqrt")
def vjp_sqrt(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx sqrt(x) = 1 / 2y."""
    return b.div(g, b.mul(y, 2.0))


@of_result("rsqrt")
def vjp_rsqrt(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx 1/sqrt(x) = -y*y*y / 2."""
    return b.mul(b.mul(g, -0.5), b.mul(b.mul(y, y), y))


# Exponentials and logarithms --------------------------------------------------------


@of_result("exp")
def vjp_exp(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx e**x = y."""
    return b.mul(g, y)


@of_result("exp2")
def vjp_exp2(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx 2**x = y * ln 2."""
    return b.mul(b.mul(g, y), log(2))


@of_result("expm1")
def vjp_expm1(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx (e**x - 1) = y + 1."""
    return b.mul(g, one_plus(b, y))


@of_operand("log")
def vjp_log(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx ln x = 1 / x."""
    return b.div(g, x)


@of_operand("log2")
def vjp_log2(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx log2 x = 1 / (x * ln 2)."""
    return b.div(g, b.mul(x, log(2)))


@of_operand("log10")
def vjp_log10(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx log10 x = 1 / (x * ln 10)."""
    return b.div(g, b.mul(x, log(10)))


@of_operand("log1p")
def vjp_log1p(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx ln(1 + x) = 1 / (1 + x)."""
    return b.div(g, one_plus(b, x))


@of_result("sigmoid")
def vjp_sigmoid(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx sigmoid(x) = (1 - y) * y."""
    return b.mul(g, b.mul(one_minus(b, y), y))


@of_operand("erf")
def vjp_erf(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx erf(x) = 2 / sqrt(pi) * e**(-x*x)."""
    return b.mul(b.mul(_bell(b, x), 2 / sqrt(pi)), g)


@of_operand("erfc")
def vjp_erfc(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx erfc(x) = -2 / sqrt(pi) * e**(-x*x)."""
    return b.mul(b.mul(_bell(b, x), -2 / sqrt(pi)), g)


def _bell(b: VjpBuilder, x: ir.Value) -> ir.Value:
    return b.op("exp", b.neg(b.mul(x, x)))


# Trigonometric and hyperbolic -------------------------------------------------------


@of_operand("sin")
def vjp_sin(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx sin x = cos x."""
    return b.mul(g, b.op("cos", x))


@of_operand("cos")
def vjp_cos(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx cos x = -sin x."""
    return b.neg(b.mul(g, b.op("sin", x)))


@of_result("tan")
def vjp_tan(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx tan x = 1 + y*y."""
    return b.mul(g, one_plus(b, b.mul(y, y)))


@of_operand("asin")
def vjp_asin(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx asin x = 1 / sqrt(1 - x*x)."""
    return b.mul(g, b.op("rsqrt", one_minus(b, b.mul(x, x))))


@of_operand("acos")
def vjp_acos(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx acos x = -1 / sqrt(1 - x*x)."""
    return b.mul(g, b.neg(b.op("rsqrt", one_minus(b, b.mul(x, x)))))


@of_operand("atan")
def vjp_atan(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx atan x = 1 / (1 + x*x)."""
    return b.div(g, one_plus(b, b.mul(x, x)))


@of_operand("sinh")
def vjp_sinh(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx sinh x = cosh x."""
    return b.mul(g, b.op("cosh", x))


@of_operand("cosh")
def vjp_cosh(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx cosh x = sinh x."""
    return b.mul(g, b.op("sinh", x))


@of_result("tanh")
def vjp_tanh(b: VjpBuilder, g: ir.Value, y: ir.Value) -> ir.Value:
    """d/dx tanh x = 1 - y*y."""
    return b.mul(g, one_minus(b, b.mul(y, y)))


@of_operand("asinh")
def vjp_asinh(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx asinh x = 1 / sqrt(x*x + 1)."""
    return b.mul(g, b.op("rsqrt", one_plus(b, b.mul(x, x))))


@of_operand("acosh")
def vjp_acosh(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx acosh x = 1 / sqrt(x*x - 1)."""
    square = b.mul(x, x)
    return b.mul(g, b.op("rsqrt", b.sub(square, b.like(1.0, square))))


@of_operand("atanh")
def vjp_atanh(b: VjpBuilder, g: ir.Value, x: ir.Value) -> ir.Value:
    """d/dx atanh x = 1 / (1 - x*x)."""
    return b.div(g, one_minus(b, b.mul(x, x)))
