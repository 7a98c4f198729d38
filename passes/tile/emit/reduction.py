"""Reductions: identity, how one more element is taken in, how lanes are combined.

An accumulator is a list of values: one for most reductions, the best value and its
position for argmax and argmin. Sums of several lanes are rounded less often than one
running sum, so they are at least as accurate as eager's.
"""

import math
from collections.abc import Callable, Sequence

from girih.dialects import graph
from girih.dialects.definition import has
from girih.dialects.tile.base import element_and_shape
from girih.dialects.traits import FINDS_PLACE
from girih.passes.tile.elements import Element
from girih.passes.tile.emit.arithmetic import extremum
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.index import is_within
from girih.passes.tile.nodes import ReduceNode

# How two values are combined, by ``COMBINES`` of the op: of floats, of others.
_COMBINING = {
    "add": ("arith.addf", "arith.addi"),
    "mul": ("arith.mulf", "arith.muli"),
    "or": (None, "arith.ori"),
    "and": (None, "arith.andi"),
}
# Combines lanes: (builder, kind as in the vector dialect, name of the type, value).
Across = Callable[[Builder, str, str, Value], Value]
SUPPORTED = frozenset([*_COMBINING, "max", "min"])
"""What reductions that are emitted may be made of."""


def combination(node: ReduceNode) -> str:
    """How two values are combined; those of argmax are the larger ones."""
    return node.op.COMBINES or value_op(node).COMBINES


def value_op(node: ReduceNode) -> type[graph.GraphOp]:
    """The reduction that finds the value: of argmax, the maximum."""
    finds_place = has(node.op, FINDS_PLACE)
    return graph.OPS[f"graph.{node.op.EXTREME}"] if finds_place else node.op


def identity(combines: str, element: Element) -> bool | int | float:
    """The value that changes nothing when it is taken in."""
    match combines:
        case "add" | "or":
            return 0
        case "mul" | "and":
            return 1
        case "max" | "logaddexp":
            return _lowest(element)
    return _highest(element)


def _lowest(element: Element) -> int | float:
    if element.is_float:
        return -math.inf
    return -(1 << (element.bits - 1)) if element.kind == "signed" else 0


def _highest(element: Element) -> int | float:
    if element.is_float:
        return math.inf
    unused = 1 if element.kind == "signed" else 0
    return (1 << (element.bits - unused)) - 1


def initial(b: Builder, node: ReduceNode) -> list[Value]:
    """The accumulator before the first element."""
    element = node.operands[0].element
    start = identity(combination(node), element)
    values = [b.constant(start, element.register_name)]
    if has(node.op, FINDS_PLACE):
        # So far no element: any one is better, even one equal to the identity.
        values.append(b.constant(-1, _position_type(node)))
    return values


def _position_type(node: ReduceNode) -> str:
    """The narrower positions are, the more lanes a register has of them."""
    return "i32" if is_within(node.position, 1 << 31) else "i64"


def narrowed(b: Builder, node: ReduceNode, position: Value) -> Value:
    """A position, given as i64, as accumulators hold it."""
    name = _position_type(node)
    return position if name == "i64" else b.op("arith.trunci", name, position)


def result(b: Builder, node: ReduceNode, accumulator: Sequence[Value]) -> Value:
    """What the reduction gives, of an accumulator whose lanes are combined."""
    value = accumulator[-1]
    element, shape = element_and_shape(value.type)
    if has(node.op, FINDS_PLACE) and str(element) != "i64":
        return b.op("arith.extui", b.type("i64", shape), value)
    return value


def combine(
    b: Builder,
    node: ReduceNode,
    accumulator: Sequence[Value],
    value: Value,
    position: Value | None,
) -> list[Value]:
    """The accumulator after one more element (in each lane)."""
    element = node.operands[0].element
    if has(node.op, FINDS_PLACE):
        best, best_position = accumulator
        wins = _is_better(b, node, value, best, best_position)
        return [
            b.select(wins, value, best),
            b.select(wins, position, best_position),
        ]
    return [merge(b, combination(node), element, accumulator[0], value)]


def merge(b: Builder, combines: str, element: Element, lhs: Value, rhs: Value) -> Value:
    """Two partial results of a reduction as one."""
    if combines in _COMBINING:
        float_op, integer_op = _COMBINING[combines]
        return b.same(float_op if element.is_float else integer_op, lhs, rhs)
    if combines == "logaddexp":
        return _log_of_sum(b, element, lhs, rhs)
    return extremum(b, element, "gt" if combines == "max" else "lt", lhs, rhs)


def _log_of_sum(b: Builder, element: Element, lhs: Value, rhs: Value) -> Value:
    """``log(e**lhs + e**rhs)``: the larger one and what the other adds to it.

    The distance of equal infinities is NaN, so what equals adds is written out.
    """
    distance = b.same("math.absf", b.same("arith.subf", lhs, rhs))
    power = b.same("math.exp", b.same("arith.negf", distance))
    is_equal = b.compare_floats("oeq", lhs, rhs)
    log_of_two = b.constant(math.log(2), str(element_and_shape(lhs.type)[0]))
    added = b.select(is_equal, log_of_two, b.same("math.log1p", power))
    return b.same("arith.addf", extremum(b, element, "gt", lhs, rhs), added)


def _is_better(
    b: Builder, node: ReduceNode, value: Value, best: Value, position: Value
) -> Value:
    """True where the value replaces the best one: the first of equals stays."""
    element = node.operands[0].element
    none_yet = b.compare_ints("slt", position, b.constant(0, _position_type(node)))
    predicate = "gt" if combination(node) == "max" else "lt"
    wins = b.compare(predicate, value, best, element)
    if element.is_float:
        # NaN beats every number, and the first NaN stays.
        is_nan = b.compare_floats("uno", value, value)
        best_is_number = b.compare_floats("ord", best, best)
        nan_wins = b.same("arith.andi", is_nan, best_is_number)
        wins = b.same("arith.ori", wins, nan_wins)
    return b.same("arith.ori", wins, none_yet)


def across_lanes(
    b: Builder,
    node: ReduceNode,
    accumulator: Sequence[Value],
    across: Across | None = None,
) -> list[Value]:
    """Combines the lanes of a vector accumulator.

    Args:
        b: makes values of the accumulator's width.
        node: the reduction.
        accumulator: its values, one for each lane.
        across: combines the lanes of one value; by default all, to a scalar.
    """
    across = across or _across
    element = node.operands[0].element
    best = horizontal(b, combination(node), element, accumulator[0], across)
    if not has(node.op, FINDS_PLACE):
        return [best]
    value, position = accumulator
    everywhere = b.op("vector.broadcast", value.type, best)
    is_best = b.compare("eq", value, everywhere, element)
    if element.is_float:
        is_nan = b.compare_floats("uno", value, value)
        is_best = b.same("arith.ori", is_best, is_nan)
        best_is_nan = b.compare_floats("uno", everywhere, everywhere)
        is_best = b.select(best_is_nan, is_nan, is_best)
    # Lanes that saw no element hold -1: as unsigned, after every position.
    last = b.constant(-1, _position_type(node))
    candidates = b.select(is_best, position, last)
    first = across(b, "minui", _position_type(node), candidates)
    return [best, first]


def horizontal(
    b: Builder, combines: str, element: Element, value: Value, across: Across
) -> Value:
    """The lanes of a value combined."""
    kind = vector_kind(combines, element)
    return across(b, kind, element.register_name, value)


def vector_kind(combines: str, element: Element) -> str:
    """How the vector dialect names a combination of such elements."""
    if combines in _COMBINING:
        return combines
    if element.is_float:
        return f"{combines}imumf"
    return f"{combines}{'s' if element.kind == 'signed' else 'u'}i"


def _across(b: Builder, kind: str, type_name: str, value: Value) -> Value:
    attributes = {"kind": b.parsed(f"#vector.kind<{kind}>")}
    if kind in ("add", "mul"):
        # A tree of partial results instead of one long chain.
        attributes["fastmath"] = b.parsed("#arith.fastmath<reassoc>")
    return b.create(
        "vector.reduction", [b.type(type_name, 0)], [value], attributes
    ).results[0]
