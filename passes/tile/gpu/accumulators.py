"""How lanes compute the reductions of ``one_pass``.

An accumulator is a list of values, each of the shape of the block:

- sum of exponentials: the largest element so far and the sum of ``exp(x - largest)``.
  The largest starts at the lowest finite number, so that a row which begins with
  ``-inf`` has no ``inf - inf``.
- sum of squared deviations: the lane's first element ``k``, the sums of ``x - k`` and
  ``(x - k)**2``, and how many elements there were. As ``k`` is one of the lane's own
  elements, cancellation costs at most as many digits as the lane has elements.
"""

from collections.abc import Sequence

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
    power = b.same("math.exp", below)
    zero = b.constant(0.0, node.element.register_name)
    grows = b.compare_floats("ogt", distance, zero)
    scaled = b.same("arith.addf", b.same("arith.mulf", total, power), one)
    added = b.same("arith.addf", total, power)
    return [b.select(grows, x, largest), b.select(grows, scaled, added)]


def combine_groups(
    b: Builder, node: ReduceNode, accumulator: Sequence[Value], x: Value, across: Across
) -> list[Value]:
    """Sums of exponentials with the elements of a group for each accumulator.

    Args:
        b: makes values of the groups' shape, [accumulators, elements].
        node: the reduction.
        accumulator: its values, one for each group.
        x: the elements, ``-inf`` where there are none.
        across: combines the elements of each group.
    """
    largest, total = accumulator
    name, groups = node.element.register_name, b.width
    found = across(b, "maximumf", name, x)
    b.width = groups[:1]
    grown = b.same("arith.maximumf", largest, found)
    factor = b.same("math.exp", b.same("arith.subf", largest, grown))
    b.width = groups
    column = b.op("vector.shape_cast", b.type(name, (groups[0], 1)), grown)
    distance = b.same("arith.subf", x, b.op("vector.broadcast", name, column))
    powers = across(b, "add", name, b.same("math.exp", distance))
    b.width = groups[:1]
    return [grown, b.same("math.fma", total, factor, powers)]


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
