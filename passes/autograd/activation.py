"""Derivatives of activations, whole: stable, and eager's at every kink.

Formulas are in f32 where the operand is of a smaller float type. Where a branch may
overflow it is computed of a masked operand, so that it has no infinite derivative.
"""

from collections.abc import Callable
from math import pi, sqrt

from girih.dialects.bindings import ir
from girih.passes.autograd.elementwise import number_of
from girih.passes.autograd.extern import calls
from girih.passes.autograd.functions import one_minus, one_plus
from girih.passes.autograd.rules import VjpBuilder, follows, vjp
from girih.passes.canonicalize_graph.numbers import convert

follows("x", "hardsigmoid", "hardtanh", "leaky_relu")


def activation(name: str) -> Callable:
    """Registers ``formula(op, g, x, b)``, the gradient by the operand x."""

    def register(formula: Callable) -> Callable:
        @vjp(name)
        def rule(op, cotangents, b: VjpBuilder) -> list:
            g, x = b.widened(cotangents[0]), b.widened(op.x)
            return [b.cast(formula(op, g, x, b), op.x.type.element_type)]

        return formula

    return register


def _compare(b: VjpBuilder, name: str, x: ir.Value, number: float) -> ir.Value:
    return b.op(name, x, b.like(number, x))


@activation("gelu")
def vjp_gelu(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """d/dx x * P(X <= x) = P(X <= x) + x * p(x), p the density."""
    if op.approximate == "tanh":
        return b.mul(g, _slope_of_gelu_tanh(b, x))
    below = b.mul(one_plus(b, b.op("erf", b.mul(x, sqrt(0.5)))), 0.5)
    density = b.mul(b.op("exp", b.mul(b.mul(x, x), -0.5)), 1 / sqrt(2 * pi))
    return b.mul(g, b.add(below, b.mul(x, density)))


def _slope_of_gelu_tanh(b: VjpBuilder, x: ir.Value) -> ir.Value:
    """(1 + t) / 2 + x * (1 - t*t) * u' / 2 with t = tanh u."""
    scale, bend = sqrt(2 / pi), 0.044715
    square = b.mul(x, x)
    inner = b.mul(b.add(x, b.mul(b.mul(square, x), bend)), scale)
    t = b.op("tanh", inner)
    inner_slope = b.mul(one_plus(b, b.mul(square, 3 * bend)), scale)
    bent = b.mul(b.mul(b.mul(x, 0.5), one_minus(b, b.mul(t, t))), inner_slope)
    return b.add(b.mul(one_plus(b, t), 0.5), bent)


@activation("silu")
def vjp_silu(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """d/dx x * s = s * (1 + x * (1 - s)), s = sigmoid(x)."""
    s = b.op("sigmoid", x)
    return b.mul(g, b.mul(s, one_plus(b, b.mul(x, one_minus(b, s)))))


@activation("mish")
def vjp_mish(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """d/dx x * t = t + x * sigmoid(x) * (1 - t*t), t = tanh(softplus(x))."""
    t = b.op("tanh", b.op("softplus", x))
    gated = b.mul(x, b.op("sigmoid", x))
    return b.mul(g, b.add(t, b.mul(gated, one_minus(b, b.mul(t, t)))))


@activation("elu")
def vjp_elu(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """Scale above 0, else scale * alpha * input_scale * e**(input_scale * x)."""
    below = b.masked(_compare(b, "lt", x, 0.0), x)
    power = b.op("exp", b.mul(below, op.input_scale))
    bent = b.mul(b.mul(g, op.input_scale * op.alpha * op.scale), power)
    is_below = _compare(b, "le", x, 0.0)
    return b.where(is_below, bent, b.mul(g, op.scale))


@activation("leaky_relu")
def vjp_leaky_relu(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """1 above 0, else the slope."""
    return b.where(_compare(b, "gt", x, 0.0), g, b.mul(g, op.negative_slope))


@activation("softplus")
def vjp_softplus(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """sigmoid(beta * x), and 1 above the threshold."""
    scaled = b.mul(x, op.beta)
    is_linear = _compare(b, "gt", scaled, op.threshold)
    return b.where(is_linear, g, b.mul(g, b.op("sigmoid", scaled)))


@activation("log_sigmoid")
def vjp_log_sigmoid(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """d/dx ln sigmoid(x) = sigmoid(-x)."""
    return b.mul(g, b.op("sigmoid", b.neg(x)))


@activation("hardsigmoid")
def vjp_hardsigmoid(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """1/6 between -3 and 3."""
    inside = b.op("logical_and", _compare(b, "gt", x, -3.0), _compare(b, "lt", x, 3.0))
    return b.masked(inside, b.mul(g, 1 / 6))


@activation("hardswish")
def vjp_hardswish(op, g: ir.Value, x: ir.Value, b: VjpBuilder) -> ir.Value:
    """0 up to -3, 1 from 3 on, x/3 + 1/2 between."""
    slope = b.add(b.div(x, 3.0), b.like(0.5, x))
    bent = b.where(_compare(b, "lt", x, 3.0), b.mul(g, slope), g)
    return b.where(_compare(b, "le", x, -3.0), b.like(0.0, g), bent)


@vjp("hardtanh")
def vjp_hardtanh(op, cotangents, b: VjpBuilder) -> list:
    """1 between the bounds, 0 at them and beyond."""
    (g,) = cotangents
    # Eager rounds no bound to a small float.
    x = b.widened(op.x)
    below = _compare(b, "le", x, float(op.min_value))
    above = _compare(b, "ge", x, float(op.max_value))
    return [b.where(b.op("logical_or", below, above), b.like(0.0, g), g)]


@vjp("clamp")
def vjp_clamp(op, cotangents, b: VjpBuilder) -> list:
    """1 for x from low to high, for low below it, for high above or where it wins."""
    (g,) = cotangents
    x, low, high = op.x, _as_compared(b, op.low), _as_compared(b, op.high)
    by_x = by_low = by_high = None
    if b.needs(x):
        inside = _joined("logical_and", b, ("ge", x, low), ("le", x, high))
        by_x = b.unbroadcast(b.masked(inside, g), x)
    if b.needs(op.low):
        below = _joined("logical_and", b, ("lt", x, low), ("lt", low, high))
        by_low = b.unbroadcast(b.masked(below, g), low)
    if b.needs(op.high):
        above = _joined("logical_or", b, ("gt", x, high), ("lt", high, low))
        by_high = b.unbroadcast(b.masked(above, g), high)
    return [by_x, by_low, by_high]


def _as_compared(b: VjpBuilder, bound: ir.Value | None) -> ir.Value | None:
    """A bound as ATen compares with it: of the type, which its value needn't be."""
    number = None if bound is None else number_of(bound)
    if number is None:
        return bound
    return b.like(convert(number, str(bound.type.element_type)), bound)


def _joined(connective: str, b: VjpBuilder, *comparisons: tuple) -> ir.Value:
    """Joins the comparisons of which both sides are there."""
    given = [
        b.op(name, lhs, rhs)
        for name, lhs, rhs in comparisons
        if lhs is not None and rhs is not None
    ]
    return given[0] if len(given) == 1 else b.op(connective, *given)


follows("inputs", "aten.rrelu_with_noise_functional.default")


@calls("aten.rrelu_with_noise_functional.default")
def vjp_rrelu(op, cotangents, b: VjpBuilder) -> list:
    """The slopes that were drawn, which are the second result."""
    g, _ = cotangents
    return [None if g is None else b.mul(g, op.outputs[1]), None]
