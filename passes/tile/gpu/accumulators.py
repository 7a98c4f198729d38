"""How lanes compute the reductions of ``one_pass``.

An accumulator is a list of values, each of the shape of the block:

- sum of exponentials: the largest element so far and the sum of ``exp(x - largest)``.
  The largest starts at the lowest finite number, so that a row which begins with
  ``-inf`` has no ``inf - inf``.
- sum of squared deviations: the lane's first element ``k``, the sums of ``x - k`` and
  ``(x - k)**2``, and how many elements there were. As ``k`` is one of the lane's own
  elements, the error is at most as many roundings of the result as there were elements.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from girih.passes.tile.emit.arithmetic import extremum
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.reduction import Across
from girih.passes.tile.gpu.one_pass import EXPONENTIALS
from girih.passes.tile.nodes import ReduceNode

# The lowest finite number by the name of the type.
LOWEST = {"f32": -3.4028234663852886e38, "f64": -1.7976931348623157e308}


def initial(b: Builder, node: ReduceNode) -> list[Value]:
    """The accumulator before the first element."""
    name = node.element.register_name
    if node.name == EXPONENTIALS:
        return [b.constant(LOWEST[name], name), b.constant(0.0, name)]
    return [b.constant(0.0, name)] * 4


def combine(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], x: Value
) -> list[Value]:
    """The accumulator after one more element in each lane."""
    if node.name == EXPONENTIALS:
        return _with_exponential(b, node, accumulator, x)
    return _with_deviation(b, node, accumulator, x)


def _with_exponential(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], x: Value
) -> list[Value]:
    """One exponential an element: of the smaller one relative to the larger."""
    largest, total = accumulator
    one = b.constant(1.0, node.element.register_name)
    distance = b.same("arith.subf", x, largest)
    below = b.same("arith.negf", b.same("math.absf", distance))
    power = _exponential(b, node, below)
    zero = b.constant(0.0, node.element.register_name)
    grows = b.compare_floats("ogt", distance, zero)
    scaled = b.same("arith.addf", b.same("arith.mulf", total, power), one)
    added = b.same("arith.addf", total, power)
    return [b.select(grows, x, largest), b.select(grows, scaled, added)]


@dataclass(frozen=True, slots=True)
class Groups:
    """A block of elements seen as groups that have one accumulator each.

    Attributes:
        elements: [groups, elements of a group].
        mask: the elements that there are, None for all.
        across: combines the elements of each group.
    """

    elements: Value
    mask: Value | None
    across: Across

    @property
    def shape(self) -> tuple[int, int]:
        """How many groups, and how many elements in each."""
        return tuple(self.elements.type.shape)

    def filled(self, b: Builder, x: Value, name: str, filling: float) -> Value:
        """Values of the elements, with a number where there is no element."""
        b.width = self.shape
        if self.mask is None:
            return x
        return b.select(self.mask, x, b.constant(filling, name))

    def combined(self, b: Builder, kind: str, name: str, x: Value) -> Value:
        """Values of the elements combined in each group."""
        b.width = self.shape
        result = self.across(b, kind, name, x)
        b.width = self.shape[:1]
        return result

    def counts(self, b: Builder, name: str) -> Value:
        """How many elements there are in each group."""
        if self.mask is None:
            b.width = self.shape[:1]
            return b.constant(float(self.shape[1]), name)
        b.width = self.shape
        ones = self.filled(b, b.constant(1.0, name), name, 0.0)
        return self.combined(b, "add", name, ones)

    def spread(self, b: Builder, name: str, x: Value) -> Value:
        """A value of each group for each of its elements."""
        b.width = self.shape
        column = b.op("vector.shape_cast", b.type(name, (self.shape[0], 1)), x)
        return b.op("vector.broadcast", name, column)


def combine_groups(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], groups: Groups
) -> list[Value]:
    """The accumulators of groups after one more block of elements."""
    name = node.element.register_name
    x = groups.filled(b, groups.elements, name, -math.inf)
    largest = groups.combined(b, "maximumf", name, x)
    if node.name == EXPONENTIALS:
        return _with_exponentials(b, node, accumulator, (groups, x, largest))
    return _with_deviations(b, name, accumulator, (groups, x, largest))


def _exponential(b: Builder, node: ReduceNode, x: Value) -> Value:
    """The device's approximation where it does."""
    flags = {"fastmath": b.parsed("#arith.fastmath<afn>")} if node.is_rough else {}
    return b.same("math.exp", x, **flags)


def _with_exponentials(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], block: tuple
) -> list[Value]:
    groups, x, found = block
    largest, total = accumulator
    name = node.element.register_name
    grown = b.same("arith.maximumf", largest, found)
    factor = _exponential(b, node, b.same("arith.subf", largest, grown))
    distance = b.same("arith.subf", x, groups.spread(b, name, grown))
    powers = groups.combined(b, "add", name, _exponential(b, node, distance))
    return [grown, b.same("math.fma", total, factor, powers)]


def _with_deviations(
    b: Builder, name: str, accumulator: Sequence[Value], block: tuple
) -> list[Value]:
    """About the largest element of the group in its first block."""
    groups, x, largest = block
    first, total, squares, count = accumulator
    more = groups.counts(b, name)
    zero = b.constant(0.0, name)
    is_first = b.compare_floats("oeq", count, zero)
    has_some = b.compare_floats("ogt", more, zero)
    is_first = b.same("arith.andi", is_first, has_some)
    first = b.select(is_first, largest, first)
    distance = b.same("arith.subf", x, groups.spread(b, name, first))
    distance = groups.filled(b, distance, name, 0.0)
    sums = groups.combined(b, "add", name, distance)
    squared = b.same("arith.mulf", distance, distance)
    powers = groups.combined(b, "add", name, squared)
    return [
        first,
        b.same("arith.addf", total, sums),
        b.same("arith.addf", squares, powers),
        b.same("arith.addf", count, more),
    ]


def _with_deviation(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], x: Value
) -> list[Value]:
    first, total, squares, count = accumulator
    name = node.element.register_name
    is_first = b.compare_floats("oeq", count, b.constant(0.0, name))
    first = b.select(is_first, x, first)
    distance = b.same("arith.subf", x, first)
    square = b.same("arith.mulf", distance, distance)
    return [
        first,
        b.same("arith.addf", total, distance),
        b.same("arith.addf", squares, square),
        b.same("arith.addf", count, b.constant(1.0, name)),
    ]


def across_lanes(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], across: Across
) -> list[Value]:
    """The result, once all elements have been taken in.

    Args:
        b: makes values of the accumulator's shape.
        node: the reduction.
        accumulator: its values.
        across: combines the lanes of one value.
    """
    if node.name == EXPONENTIALS:
        return _exponentials_of_lanes(b, node, accumulator, across)
    return _deviations_of_lanes(b, node, accumulator, across)


def _everywhere(b: Builder, like: Value, combined: Value) -> Value:
    """A combined value in each lane again."""
    if combined.type == like.type:
        return combined
    return b.op("vector.broadcast", like.type, combined)


def _exponentials_of_lanes(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], across: Across
) -> list[Value]:
    largest, total = accumulator
    name = node.element.register_name
    of_all = _everywhere(b, largest, across(b, "maximumf", name, largest))
    factor = b.same("math.exp", b.same("arith.subf", largest, of_all))
    return [across(b, "add", name, b.same("arith.mulf", total, factor))]


def _deviations_of_lanes(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], across: Across
) -> list[Value]:
    """Each lane's own deviations, and those of the lanes' means, by their counts."""
    first, total, squares, count = accumulator
    name = node.element.register_name
    one, zero = b.constant(1.0, name), b.constant(0.0, name)
    some = extremum(b, node.element, "gt", count, one)
    shift = b.same("arith.divf", total, some)
    mean = b.same("arith.addf", first, shift)
    own = b.same("arith.subf", squares, b.same("arith.mulf", total, shift))
    own = extremum(b, node.element, "gt", own, zero)
    sums = across(b, "add", name, b.same("arith.mulf", mean, count))
    counts = _everywhere(b, count, across(b, "add", name, count))
    counts = extremum(b, node.element, "gt", counts, one)
    of_all = b.same("arith.divf", _everywhere(b, count, sums), counts)
    apart = b.same("arith.subf", mean, of_all)
    between = b.same("arith.mulf", count, b.same("arith.mulf", apart, apart))
    return [across(b, "add", name, b.same("arith.addf", own, between))]
