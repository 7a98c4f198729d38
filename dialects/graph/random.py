"""Random tensors: draws from torch's own generator, and numbers made of a seed.

Library ops draw as eager does, in eager's order: they are neither removed, merged nor
reordered. ``philox`` computes: what it gives depends on its operands alone, so it may
stand in kernels and be computed again. Result types of draws are given when built.
Source: https://docs.pytorch.org/docs/stable/torch.html#random-sampling
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import FLOAT, INT, LAYOUTS
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, optional_attribute, result
from girih.dialects.graph.base import (
    GraphOp,
    LibraryOp,
    OrderedOp,
    broadcast,
    expect_float,
    expect_index,
    expect_rank,
    expect_same_element,
    with_element,
)
from girih.dialects.rules import expect
from girih.dialects.traits import ELEMENTWISE, MAY_ALIAS, RANDOM, VIEW, Cost


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


class SeedOp(LibraryOp, name="seed", traits={VIEW, MAY_ALIAS}):
    """y = seeds[index], a rank-0 view.

    No kernel sees which seed it was given, so those of equal layers are one kernel.
    """

    COST = Cost.CHEAP

    seeds = operand()
    index = attribute(INT)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """A rank-0 tensor of ``i64``."""
        (count,) = expect_rank(types[0], "seeds", 1)
        expect_same_element(types[0], "seeds", ty.i64())
        index = attributes["index"]
        expect(0 <= index < count, "index", f"be from 0 to below {count}", index)
        return [ty.tensor_type((), ty.i64())]


class PhiloxOp(GraphOp, name="philox", traits={ELEMENTWISE, RANDOM}):
    """y[i...] = word ``index % 4`` of block ``index // 4`` of the seed's stream.

    Block n is Philox4x32-10 of the counter (n, 0), both of 64 bits, and the seed.
    Operands broadcast: seed, ``i64``, usually one; index, not negative, ``i32`` or
    ``i64``.
    Dtypes: ``ui32``, all 32 bits random.
    Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011
    """

    COST = Cost.CHEAP
    INSTRUCTIONS = 60

    seed = operand()
    index = operand()
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """What the operands' shapes broadcast to, with elements of ``ui32``."""
        expect_same_element(types[0], "seed", ty.i64())
        expect_index(types[1], "index")
        shape = broadcast(types, ("seed", "index"))
        return [ty.tensor_type(shape, ty.element_type("ui32"))]
