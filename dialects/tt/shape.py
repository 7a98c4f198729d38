"""Ranges, splats, broadcasts and other changes of shape."""

import math

from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, result
from girih.dialects.rules import expect
from girih.dialects.tt.base import (
    INT32,
    INTS32,
    TtOp,
    element_of,
    expect_power_of_two,
    expect_tensor,
    shape_of,
    with_shape,
)


class MakeRangeOp(TtOp, name="make_range"):
    """[start, start + 1, ..., end - 1] as tensor<(end - start) x i32>."""

    start = attribute(INT32, default=0)
    end = attribute(INT32)
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """One i32 for each number; there is a power of two of them."""
        sizes = (attributes["end"] - attributes["start"],)
        expect_power_of_two(sizes, "range")
        return [with_shape(sizes, ir.IntegerType.get_signless(32))]


class SplatOp(TtOp, name="splat"):
    """A tensor of which each element is the scalar."""

    scalar = operand()
    value = result()

    def verify_invariants(self) -> None:
        """Checks that the result is a tensor of the scalar's type."""
        expect_power_of_two(expect_tensor(self.value.type, "value"), "value")
        element, scalar = element_of(self.value.type), self.scalar.type
        expect(element == scalar, "value", f"have elements {scalar}", element)


class ExpandDimsOp(TtOp, name="expand_dims"):
    """The tensor with a new dimension of size 1 at ``axis``."""

    source = operand()
    axis = attribute(INT32)
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The sizes with a 1 inserted."""
        sizes, axis = expect_tensor(types[0], "source"), attributes["axis"]
        expect(0 <= axis <= len(sizes), "axis", f"be 0 to {len(sizes)}", axis)
        shape = (*sizes[:axis], 1, *sizes[axis:])
        return [with_shape(shape, element_of(types[0]))]


class BroadcastOp(TtOp, name="broadcast"):
    """The tensor repeated along its dimensions of size 1."""

    source = operand()
    value = result()

    def verify_invariants(self) -> None:
        """Checks elements, rank, and that other sizes stay."""
        source, value = self.source.type, self.value.type
        before, after = expect_tensor(source, "source"), shape_of(value)
        fits = len(before) == len(after) and element_of(source) == element_of(value)
        fits = fits and all(a in (1, b) for a, b in zip(before, after, strict=True))
        expect(fits, "value", f"be a broadcast of {source}", value)
        expect_power_of_two(after, "value")


class ReshapeOp(TtOp, name="reshape"):
    """The same elements in the same order with other sizes."""

    source = operand()
    value = result()

    def verify_invariants(self) -> None:
        """Checks that there are as many elements of the same type."""
        source, value = self.source.type, self.value.type
        count = math.prod(expect_tensor(source, "source"))
        fits = math.prod(expect_tensor(value, "value")) == count
        fits = fits and element_of(source) == element_of(value)
        expect(fits, "value", f"have the elements of {source}", value)


class TransOp(TtOp, name="trans"):
    """The tensor with its dimensions in another order."""

    source = operand()
    order = attribute(INTS32)
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The sizes in that order."""
        sizes, order = expect_tensor(types[0], "source"), tuple(attributes["order"])
        is_order = sorted(order) == list(range(len(sizes)))
        expect(is_order, "order", f"permute {len(sizes)} dimensions", list(order))
        shape = tuple(sizes[dim] for dim in order)
        return [with_shape(shape, element_of(types[0]))]
