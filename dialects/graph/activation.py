"""Activations: composites, elementwise, with derivatives worth keeping whole.

The derivatives are stable, and eager's at every kink. ``relu`` and ``sigmoid`` are
primitives (elementwise). All take real floats and return the operand's type; ``clamp``
and ``hardtanh`` also take integers.
Source: https://docs.pytorch.org/docs/stable/nn.functional.html#non-linear-activation-functions
"""

from collections.abc import Mapping
from math import pi, sqrt
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import FLOAT, SCALAR, STRING
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, optional_operand, result
from girih.dialects.graph.base import (
    CompositeOp,
    broadcast,
    element_of,
    expect_float,
    expect_same_element,
)
from girih.dialects.graph.creation import expect_number_fits
from girih.dialects.graph.formulas import Promotes, Sample, of_operand
from girih.dialects.rules import expect


class Activation(CompositeOp):
    """One float operand; the result has its type."""

    ATEN = "default"
    ELEMENTS = "real float"
    PROMOTES = Promotes.SAME

    x = operand()
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        expect_float(types[0], "x")
        return [types[0]]


def _gelu(f: Any, x: Any, approximate: str) -> Any:
    half = x * 0.5
    if approximate == "tanh":
        inner = f.tanh((x + x * x * x * 0.044715) * sqrt(2 / pi))
    else:
        inner = f.erf(x * sqrt(0.5))
    return half * (inner + 1)


def _gelu_gradient(f: Any, g: Any, x: Any, approximate: str) -> Any:
    if approximate != "tanh":
        below = (f.erf(x * sqrt(0.5)) + 1) * 0.5
        density = f.exp(x * x * -0.5) * (1 / sqrt(2 * pi))
        return g * (below + x * density)
    # (1 + t) / 2 + x * (1 - t*t) * u' / 2 with t = tanh u.
    scale, bend = sqrt(2 / pi), 0.044715
    square = x * x
    t = f.tanh((x + square * x * bend) * scale)
    slope = (square * (3 * bend) + 1) * scale
    bent = x * 0.5 * (1 - t * t) * slope
    return g * ((t + 1) * 0.5 + bent)


class GeluOp(Activation, name="gelu"):
    """y = x * P(X <= x) for a standard normal X.

    ``approximate`` is ``none`` (by erf) or ``tanh``:
    y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))).
    """

    VALUE = _gelu
    GRADIENT = of_operand(_gelu_gradient)
    SAMPLE = Sample(-6, 6, ({"approximate": "none"}, {"approximate": "tanh"}))

    approximate = attribute(STRING, default="none")

    def verify_invariants(self) -> None:
        """Checks the name of the approximation."""
        known = self.approximate in ("none", "tanh")
        expect(known, "approximate", "be none or tanh", self.approximate)


def _silu_gradient(f: Any, g: Any, x: Any) -> Any:
    s = f.sigmoid(x)
    return g * (s * (x * (1 - s) + 1))


class SiluOp(Activation, name="silu"):
    """y = x * sigmoid(x)."""

    VALUE = staticmethod(lambda f, x: x * f.sigmoid(x))
    GRADIENT = of_operand(_silu_gradient)
    SAMPLE = Sample(-20, 20)


def _mish_gradient(f: Any, g: Any, x: Any) -> Any:
    t = f.tanh(f.softplus(x))
    return g * (t + x * f.sigmoid(x) * (1 - t * t))


class MishOp(Activation, name="mish"):
    """y = x * tanh(log(1 + e**x))."""

    # For large x the tanh is that of infinity, 1.
    VALUE = staticmethod(lambda f, x: x * f.tanh(f.log1p(f.exp(x))))
    GRADIENT = of_operand(_mish_gradient)
    SAMPLE = Sample(-20, 20)


def _elu(f: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    below = f.expm1(x * input_scale) * (alpha * scale)
    return f.where(x > 0, x * scale, below)


def _elu_gradient(
    f: Any, g: Any, x: Any, alpha: float, scale: float, input_scale: float
) -> Any:
    # The branch is masked where it may overflow, for it has no infinite derivative.
    power = f.exp(f.where(x < 0, x, 0.0) * input_scale)
    return f.where(x <= 0, g * (input_scale * alpha * scale) * power, g * scale)


class EluOp(Activation, name="elu"):
    """y = scale * x for x > 0, else scale * alpha * (e**(input_scale * x) - 1)."""

    VALUE = _elu
    GRADIENT = of_operand(_elu_gradient)
    SAMPLE = Sample(-9, 9, ({"alpha": 1.3, "scale": 1.1, "input_scale": 0.9},))

    alpha = attribute(FLOAT, default=1.0)
    scale = attribute(FLOAT, default=1.0)
    input_scale = attribute(FLOAT, default=1.0)


class LeakyReluOp(Activation, name="leaky_relu"):
    """y = x for x > 0, else negative_slope * x."""

    VALUE = staticmethod(
        lambda f, x, negative_slope: f.where(x > 0, x, x * negative_slope)
    )
    GRADIENT = of_operand(
        lambda f, g, x, negative_slope: f.where(x > 0, g, g * negative_slope),
        is_followed=True,
    )
    SAMPLE = Sample(-9, 9, ({"negative_slope": 0.01}, {"negative_slope": 0.3}))

    negative_slope = attribute(FLOAT, default=0.01)


def _softplus(f: Any, x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    return f.where(scaled > threshold, x, f.log1p(f.exp(scaled)) / beta)


def _softplus_gradient(f: Any, g: Any, x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    return f.where(scaled > threshold, g, g * f.sigmoid(scaled))


class SoftplusOp(Activation, name="softplus"):
    """y = log(1 + e**(beta * x)) / beta, or x where beta * x > threshold."""

    VALUE = _softplus
    GRADIENT = of_operand(_softplus_gradient)
    SAMPLE = Sample(-30, 30, ({"beta": 1.0, "threshold": 20.0},))

    beta = attribute(FLOAT, default=1.0)
    threshold = attribute(FLOAT, default=20.0)


class LogSigmoidOp(Activation, name="log_sigmoid"):
    """y = min(x, 0) - log(1 + e**-|x|)."""

    PROMOTES = None  # ATen's operator for it has two results

    VALUE = staticmethod(lambda f, x: f.minimum(x, 0.0) - f.log1p(f.exp(-f.abs(x))))
    GRADIENT = of_operand(lambda f, g, x: g * f.sigmoid(-x))
    SAMPLE = Sample(-30, 30)


class HardsigmoidOp(Activation, name="hardsigmoid"):
    """y = min(max(x + 3, 0), 6) / 6."""

    VALUE = staticmethod(lambda f, x: f.minimum(f.relu(x + 3), 6.0) / 6)
    GRADIENT = of_operand(
        lambda f, g, x: f.where((x > -3) & (x < 3), g * (1 / 6), 0.0), is_followed=True
    )
    SAMPLE = Sample(-5, 5, order=1)


class HardswishOp(Activation, name="hardswish"):
    """y = x * min(max(x + 3, 0), 6) / 6."""

    VALUE = staticmethod(lambda f, x: x * f.minimum(f.relu(x + 3), 6.0) / 6)
    # 0 up to -3, 1 from 3 on.
    GRADIENT = of_operand(
        lambda f, g, x: f.where(x <= -3, 0.0, f.where(x < 3, g * (x / 3.0 + 0.5), g))
    )
    SAMPLE = Sample(-5, 5)


class HardtanhOp(CompositeOp, name="hardtanh"):
    """y = min(max(x, min_value), max_value); NaN stays NaN."""

    ATEN = "default"
    ELEMENTS = "ordered"
    PROMOTES = Promotes.SAME

    VALUE = staticmethod(
        lambda f, x, min_value, max_value: f.minimum(f.maximum(x, min_value), max_value)
    )
    # At the bounds it is 0, too.
    GRADIENT = of_operand(
        lambda f, g, x, min_value, max_value: f.where(
            (x <= float(min_value)) | (x >= float(max_value)), 0.0, g
        ),
        is_followed=True,
    )
    SAMPLE = Sample(-3, 3, ({"min_value": -1.0, "max_value": 1.5},))

    x = operand()
    min_value = attribute(SCALAR, default=-1.0)
    max_value = attribute(SCALAR, default=1.0)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        element = element_of(types[0], "x")
        for name in ("min_value", "max_value"):
            expect_number_fits(attributes[name], element, name)
        return [types[0]]


class ClampOp(CompositeOp, name="clamp"):
    """y = min(max(x, low), high); high wins where low > high; NaN stays NaN.

    low and high are tensors that broadcast with x (constants for numbers).
    Errors: neither low nor high, or of another element type.
    """

    x = operand()
    low = optional_operand()
    high = optional_operand()
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The broadcast shape with x's elements."""
        element = element_of(types[0], "x")
        pairs = zip(("x", "low", "high"), types, strict=True)
        given = [(name, type_) for name, type_ in pairs if type_ is not None]
        expect(len(given) > 1, "low or high", "be given", "nothing")
        for name, type_ in given[1:]:
            expect_same_element(type_, name, element)
        shape = broadcast([t for _, t in given], [name for name, _ in given])
        return [ty.tensor_type(shape, element)]
