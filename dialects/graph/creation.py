"""Tensors made of nothing: constants, filled tensors, counters, sizes.

Numbers are written in their widest form (``i64``, ``ui64`` if larger, ``f64``, bool,
``[re, im]``); the result type says what they are stored as. Result types are given
when built. Source: https://docs.pytorch.org/docs/stable/torch.html#creation-ops
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import NUMBER, SCALAR, SIZE
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, result
from girih.dialects.graph.base import GraphOp, element_of, expect_rank
from girih.dialects.rules import expect
from girih.dialects.traits import CREATES, Cost


def expect_number_fits(value: Any, element: ir.Type, name: str) -> None:
    """Checks that a number can be an element of this type."""
    if isinstance(value, complex):
        fits, rule = ty.is_complex(element), "be real"
    elif isinstance(value, float):
        fits = ty.is_float(element) or ty.is_complex(element)
        rule = "be an integer"
    else:
        fits = isinstance(value, bool) or not ty.is_bool(element)
        rule = "be true or false"
    expect(fits, name, f"{rule} for element type {element}", value)


class ConstantOp(GraphOp, name="constant", traits={CREATES}):
    """y = value, a rank-0 tensor."""

    COST = Cost.CHEAP

    value = attribute(SCALAR)
    y = result()

    def verify_invariants(self) -> None:
        """Checks the rank and that the value fits."""
        expect_rank(self.y.type, "y", 0)
        expect_number_fits(self.value, element_of(self.y.type, "y"), "value")


class FullOp(GraphOp, name="full", traits={CREATES}):
    """y[i...] = value, of any shape."""

    COST = Cost.CHEAP

    value = attribute(SCALAR)
    y = result()

    def verify_invariants(self) -> None:
        """Checks that the value fits."""
        expect_number_fits(self.value, element_of(self.y.type, "y"), "value")


class IotaOp(GraphOp, name="iota", traits={CREATES}):
    """y[i] = start + step * i, of rank 1.

    ``start`` and ``step`` are numbers; integers may be dim expressions.
    """

    COST = Cost.CHEAP

    start = attribute(NUMBER, default=0)
    step = attribute(NUMBER, default=1)
    y = result()

    def verify_invariants(self) -> None:
        """Checks the rank and that the numbers fit."""
        expect_rank(self.y.type, "y", 1)
        element = element_of(self.y.type, "y")
        expect_number_fits(self.start, element, "start")
        expect_number_fits(self.step, element, "step")


class SizeOp(GraphOp, name="size", traits={CREATES}):
    """y = the value of a dim expression, a rank-0 tensor of ``i64``."""

    COST = Cost.CHEAP

    expr = attribute(SIZE)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """A rank-0 ``i64`` tensor."""
        return [ty.tensor_type((), ty.i64())]
