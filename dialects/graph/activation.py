"""Activations: composites, elementwise, with derivatives worth keeping whole.

``relu`` and ``sigmoid`` are primitives (elementwise). All take real floats and return
the operand's type; ``clamp`` and ``hardtanh`` also take integers.
Source: https://docs.pytorch.org/docs/stable/nn.functional.html#non-linear-activation-functions
"""

from collections.abc import Mapping
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
from girih.dialects.rules import expect


class Activation(CompositeOp):
    """One float operand; the result has its type."""

    x = operand()
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        expect_float(types[0], "x")
        return [types[0]]


class GeluOp(Activation, name="gelu"):
    """y = x * P(X <= x) for a standard normal X.

    ``approximate`` is ``none`` (by erf) or ``tanh``:
    y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))).
    """

    approximate = attribute(STRING, default="none")

    def verify_invariants(self) -> None:
        """Checks the name of the approximation."""
        known = self.approximate in ("none", "tanh")
        expect(known, "approximate", "be none or tanh", self.approximate)


class SiluOp(Activation, name="silu"):
    """y = x * sigmoid(x)."""


class MishOp(Activation, name="mish"):
    """y = x * tanh(log(1 + e**x))."""


class EluOp(Activation, name="elu"):
    """y = scale * x for x > 0, else scale * alpha * (e**(input_scale * x) - 1)."""

    alpha = attribute(FLOAT, default=1.0)
    scale = attribute(FLOAT, default=1.0)
    input_scale = attribute(FLOAT, default=1.0)


class LeakyReluOp(Activation, name="leaky_relu"):
    """y = x for x > 0, else negative_slope * x."""

    negative_slope = attribute(FLOAT, default=0.01)


class SoftplusOp(Activation, name="softplus"):
    """y = log(1 + e**(beta * x)) / beta, or x where beta * x > threshold."""

    beta = attribute(FLOAT, default=1.0)
    threshold = attribute(FLOAT, default=20.0)


class LogSigmoidOp(Activation, name="log_sigmoid"):
    """y = min(x, 0) - log(1 + e**-|x|)."""


class HardsigmoidOp(Activation, name="hardsigmoid"):
    """y = min(max(x + 3, 0), 6) / 6."""


class HardswishOp(Activation, name="hardswish"):
    """y = x * min(max(x + 3, 0), 6) / 6."""


class HardtanhOp(CompositeOp, name="hardtanh"):
    """y = min(max(x, min_value), max_value); NaN stays NaN."""

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
