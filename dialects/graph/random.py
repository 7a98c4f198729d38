"""Random tensors: library ops that draw from torch's own generator, in eager's order.

They are neither removed, merged nor reordered. Result types are given when built.
Source: https://docs.pytorch.org/docs/stable/torch.html#random-sampling
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import FLOAT, INT, LAYOUTS
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, optional_attribute, result
from girih.dialects.graph.base import OrderedOp, expect_float, with_element
from girih.dialects.rules import expect


class _FloatSample(OrderedOp):
    """Floats of any shape."""

    strides = optional_attribute(LAYOUTS)
    y = result()

    def verify_invariants(self) -> None:
        """Checks that elements are floats."""
        expect_float(self.y.type, "y")


class RandOp(_FloatSample, name="rand"):
    """y = independent uniform numbers in [0, 1)."""


class RandnOp(_FloatSample, name="randn"):
    """y = independent standard normal numbers."""


class RandintOp(OrderedOp, name="randint"):
    """y = independent uniform integers in [low, high)."""

    low = attribute(INT, default=0)
    high = attribute(INT)
    strides = optional_attribute(LAYOUTS)
    y = result()

    def verify_invariants(self) -> None:
        """Checks that the range is not empty."""
        low, high = self.low, self.high
        expect(low < high, "high", f"be above low, which is {low}", high)


class BernoulliOp(OrderedOp, name="bernoulli"):
    """y = 1 with probability x, else 0."""

    x = operand()
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        expect_float(types[0], "x")
        return [types[0]]


class DropoutOp(OrderedOp, name="dropout"):
    """y = x * mask / (1 - p), where each element of mask is true with 1 - p."""

    x = operand()
    p = attribute(FLOAT)
    strides = optional_attribute(LAYOUTS)
    y = result()
    mask = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type, and bools of its shape."""
        expect_float(types[0], "x")
        p = attributes["p"]
        expect(0 <= p <= 1, "p", "be from 0 to 1", p)
        return [types[0], with_element(types[0], ty.i1())]
