"""Views and rearrangements: each result element is one operand element, or a filler.

Sizes may be symbolic everywhere. Sources:
https://docs.pytorch.org/docs/stable/tensor_view.html and the pages of the functions.
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import INT, INTS, SCALAR, SIZE, SIZES
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, is_below_zero, product
from girih.dialects.fields import attribute, operand, result, variadic_operand
from girih.dialects.graph.base import (
    GraphOp,
    LibraryOp,
    broadcast_shapes,
    element_of,
    expect_dim,
    expect_dims,
    expect_same_element,
    expect_tensor,
    shape_text,
)
from girih.dialects.graph.creation import expect_number_fits
from girih.dialects.rules import expect
from girih.dialects.traits import (
    ASSEMBLES,
    BIJECTIVE,
    MAY_ALIAS,
    REINDEXES,
    TAKES_FLOAT8,
    VIEW,
    Cost,
)


class _SameElementView(GraphOp, traits={REINDEXES, VIEW, MAY_ALIAS, TAKES_FLOAT8}):
    """A view whose result type is given when built; it keeps the element type."""

    COST = Cost.CHEAP
    ZERO_IF = (("x",),)

    x = operand()
    y = result()

    def verify_invariants(self) -> None:
        """Checks the element type and then the shapes."""
        expect_same_element(self.y.type, "y", element_of(self.x.type, "x"))
        self.verify_shapes(
            expect_tensor(self.x.type, "x"), expect_tensor(self.y.type, "y")
        )

    def verify_shapes(self, source: tuple, target: tuple) -> None:
        """Checks the result's shape against the operand's."""


class ReshapeOp(_SameElementView, name="reshape", traits={BIJECTIVE}):
    """y has the elements of x, in row-major order, in another shape.

    Errors: another number of elements, where both are known.
    """

    def verify_shapes(self, source: tuple, target: tuple) -> None:
        """Checks the number of elements."""
        counts = product(source), product(target)
        known = all(isinstance(count, int) for count in counts)
        agree = not known or counts[0] == counts[1]
        expect(agree, "y", f"have {counts[0]} elements", shape_text(target))


class PermuteOp(
    GraphOp, name="permute", traits={REINDEXES, VIEW, BIJECTIVE, MAY_ALIAS}
):
    """y[i[p[0]], i[p[1]], ...] = x[i]: dim d of y is dim permutation[d] of x."""

    COST = Cost.CHEAP
    ZERO_IF = (("x",),)

    x = operand()
    permutation = attribute(INTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's sizes in the new order."""
        shape = expect_tensor(types[0], "x")
        order = attributes["permutation"]
        is_permutation = sorted(order) == list(range(len(shape)))
        rule = f"order the dims 0 to {len(shape) - 1}"
        expect(is_permutation, "permutation", rule, list(order))
        return [ty.tensor_type([shape[d] for d in order], types[0].element_type)]


class BroadcastToOp(_SameElementView, name="broadcast_to"):
    """y = x repeated along dims of size 1 and new leading dims.

    Errors: shapes that do not broadcast.
    """

    def verify_shapes(self, source: tuple, target: tuple) -> None:
        """Checks that x broadcasts to y's shape and not beyond."""
        rule = f"broadcast to {shape_text(target)}"
        fits = len(source) <= len(target)
        expect(fits, "x", rule, shape_text(source))
        agree = broadcast_shapes(target, source, "x") == target
        expect(agree, "x", rule, shape_text(source))


class SliceOp(_SameElementView, name="slice"):
    """y[i...] = x[starts + steps * i...]; the result type gives the sizes.

    ``starts`` are at least 0 and may be dim expressions; ``steps`` are at least 1.
    Errors: other ranks, steps below 1, elements out of range (where known).
    """

    starts = attribute(SIZES)
    steps = attribute(INTS)

    def verify_shapes(self, source: tuple, target: tuple) -> None:
        """Checks ranks, steps and bounds."""
        starts, steps, rank = self.starts, self.steps, len(source)
        expect(len(target) == rank, "y", f"have rank {rank}", shape_text(target))
        expect(len(starts) == rank, "starts", f"have {rank} entries", list(starts))
        expect(len(steps) == rank, "steps", f"have {rank} entries", list(steps))
        positive = all(step >= 1 for step in steps)
        expect(positive, "steps", "be at least 1", list(steps))
        bounds = zip(source, target, starts, steps, strict=True)
        for size, count, start, step in bounds:
            _expect_in_range(size, count, start, step)


def _expect_in_range(
    size: Any, count: Any, start: Any, step: int, subject: str = "y"
) -> None:
    """Checks what is evident of sizes and starts: guards say the rest of symbols."""
    expect(not is_below_zero(start), "starts", "be at least 0", start)
    if isinstance(count, Dim) or count:
        last = start + (count - 1) * step
        is_inside = not is_below_zero(size - last - 1)
        expect(is_inside, subject, f"end before the size {size}", last)


class InsertOp(LibraryOp, name="insert", traits={MAY_ALIAS}):
    """y = x, but y[starts + steps * i...] = part[i...].

    A write to a part of an argument becomes this op. Where nothing needs the old
    elements, x's own memory is written; otherwise y is a copy. ``starts`` are at least
    0 and may be dim expressions; ``steps`` are at least 1.
    Errors: other ranks or elements, steps below 1, a part out of range (where known).
    """

    ZERO_IF = (("x", "part"),)

    x = operand()
    part = operand()
    starts = attribute(SIZES)
    steps = attribute(INTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The type of x."""
        whole, part = expect_tensor(types[0], "x"), expect_tensor(types[1], "part")
        expect_same_element(types[1], "part", types[0].element_type)
        starts, steps, rank = attributes["starts"], attributes["steps"], len(whole)
        expect(len(part) == rank, "part", f"have rank {rank}", shape_text(part))
        expect(len(starts) == rank, "starts", f"have {rank} entries", list(starts))
        expect(len(steps) == rank, "steps", f"have {rank} entries", list(steps))
        positive = all(step >= 1 for step in steps)
        expect(positive, "steps", "be at least 1", list(steps))
        for bounds in zip(whole, part, starts, steps, strict=True):
            _expect_in_range(*bounds, subject="part")
        return [types[0]]


class WindowOp(_SameElementView, name="window"):
    """y[a..., i, b..., k] = x[a..., i * step + k, b...]; i is at ``dim``.

    The result type gives how many windows there are and, as its last size, how many
    elements each has. ``step`` is at least 1 and may be a dim expression. Windows
    overlap where it is smaller than they are.
    Errors: another rank than x's and one, other sizes outside ``dim``, a step below 1,
    elements out of range (where known).
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.unfold.html
    """

    dim = attribute(INT)
    step = attribute(SIZE)

    def verify_shapes(self, source: tuple, target: tuple) -> None:
        """Checks the step, the sizes outside the dim, and where windows end."""
        dim, step, rank = self.dim, self.step, len(source)
        expect_dim(dim, rank)
        expect(not is_below_zero(step - 1), "step", "be at least 1", step)
        rule = f"have rank {rank + 1}"
        expect(len(target) == rank + 1, "y", rule, shape_text(target))
        *kept, length = target
        count = kept[dim]
        expected = (*source[:dim], count, *source[dim + 1 :])
        rule = f"have the sizes {shape_text(expected)} before its last one"
        expect(tuple(kept) == expected, "y", rule, shape_text(target))
        end = (count - 1) * step + length
        is_inside = count == 0 or not is_below_zero(source[dim] - end)
        expect(is_inside, "y", f"end at the size {source[dim]}", end)


class ConcatOp(GraphOp, name="concat", traits={ASSEMBLES, TAKES_FLOAT8}):
    """y = the operands one after the other along ``dim``.

    Errors: no operand; other ranks, element types or sizes outside ``dim``.
    """

    COST = Cost.CHEAP
    ZERO_IF = (("inputs",),)

    inputs = variadic_operand()
    dim = attribute(INT)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The sizes of the first operand, with the sum of all along ``dim``."""
        (inputs,) = types
        expect(len(inputs) > 0, "inputs", "be at least 1 in number", 0)
        dim, first = attributes["dim"], list(expect_tensor(inputs[0], "inputs[0]"))
        expect_dim(dim, len(first))
        element = inputs[0].element_type
        for index, type_ in enumerate(inputs[1:], start=1):
            name = f"inputs[{index}]"
            expect_same_element(type_, name, element)
            shape = list(expect_tensor(type_, name))
            rest = shape[:dim] + shape[dim + 1 :]
            rule = f"have the sizes {shape_text(first)} outside dim {dim}"
            expect(rest == first[:dim] + first[dim + 1 :], name, rule, type_)
            first[dim] = first[dim] + shape[dim]
        return [ty.tensor_type(first, element)]


class PadOp(GraphOp, name="pad", traits={ASSEMBLES, TAKES_FLOAT8}):
    """y = x with ``low`` and ``high`` more elements, all ``value``, around each dim.

    ``low`` and ``high`` are at least 0 and may be dim expressions.
    """

    COST = Cost.CHEAP

    x = operand()
    low = attribute(SIZES)
    high = attribute(SIZES)
    value = attribute(SCALAR, default=0)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's sizes plus the padding."""
        shape = expect_tensor(types[0], "x")
        for name in ("low", "high"):
            padding = attributes[name]
            rule = f"have {len(shape)} entries"
            expect(len(padding) == len(shape), name, rule, shape_text(padding))
            positive = not any(map(is_below_zero, padding))
            expect(positive, name, "be at least 0", shape_text(padding))
        expect_number_fits(attributes["value"], types[0].element_type, "value")
        sizes = zip(shape, attributes["low"], attributes["high"], strict=True)
        padded = [size + low + high for size, low, high in sizes]
        return [ty.tensor_type(padded, types[0].element_type)]


class FlipOp(GraphOp, name="flip", traits={REINDEXES, TAKES_FLOAT8}):
    """y = x with the order of elements along ``dims`` reversed."""

    COST = Cost.CHEAP
    ZERO_IF = (("x",),)

    x = operand()
    dims = attribute(INTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        expect_dims(attributes["dims"], len(expect_tensor(types[0], "x")))
        return [types[0]]
