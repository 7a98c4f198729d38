"""Reductions as their folds say: state, one more element, lanes together, result.

``dialects/graph/folds.py`` says what a fold is. Sums of several lanes are rounded less
often than one running sum, so they are at least as accurate as eager's.
"""

from collections.abc import Sequence

from girih.dialects.graph.folds import Join, Start
from girih.dialects.tile.base import element_and_shape
from girih.passes.tile.elements import Element
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.fold import (
    Across,
    FoldFunctions,
    joined,
    kind_of,
    start_of,
)
from girih.passes.tile.index import is_within
from girih.passes.tile.nodes import ReduceNode


def functions(
    b: Builder, node: ReduceNode, across: Across | None = None
) -> FoldFunctions:
    """The functions with which a reduction's formulas make ops."""
    return FoldFunctions(b, node.operands[0].element, across, is_rough=node.is_rough)


def initial(b: Builder, node: ReduceNode) -> list[Value]:
    """The state before the first element."""
    element = node.operands[0].element
    return [
        b.constant(
            start_of(start, element),
            _position_type(node) if start is Start.NOWHERE else element.register_name,
        )
        for start in node.fold.start
    ]


def _position_type(node: ReduceNode) -> str:
    """The narrower positions are, the more lanes a register has of them."""
    return "i32" if is_within(node.position, 1 << 31) else "i64"


def narrowed(b: Builder, node: ReduceNode, position: Value) -> Value:
    """A position, given as i64, as states hold it."""
    name = _position_type(node)
    return position if name == "i64" else b.op("arith.trunci", name, position)


def combine(
    b: Builder, node: ReduceNode, state: Sequence[Value], *element: Value
) -> list[Value]:
    """The state after one more element, with its position, in each lane."""
    f = functions(b, node)
    values = [f.value(each) for each in (*state, *element)]
    return [each.value for each in node.fold.take(f, *values)]


def merge(b: Builder, node: ReduceNode, lhs: Value, rhs: Value) -> Value:
    """Two partial results as one, where a value is the whole state."""
    return joined(b, node.fold.joins, node.operands[0].element, lhs, rhs)


def across_lanes(
    b: Builder, node: ReduceNode, state: Sequence[Value], across: Across | None = None
) -> list[Value]:
    """The state of all lanes of a vector, or as many as ``across`` combines."""
    f = functions(b, node, across or _across)
    return [each.value for each in node.fold.join(f, *map(f.value, state))]


def result(
    b: Builder, node: ReduceNode, state: Sequence[Value], across: Across | None = None
) -> Value:
    """What the reduction gives; ``across`` combines lanes that are still apart."""
    f = functions(b, node, across)
    value = node.fold.finish(f, *map(f.value, state)).value
    element, shape = element_and_shape(value.type)
    if node.position is not None and str(element) != "i64":
        return b.op("arith.extui", b.type("i64", shape), value)
    return value


def _across(b: Builder, join: Join, element: Element, value: Value) -> Value:
    kind = kind_of(join, element)
    attributes = {"kind": b.parsed(f"#vector.kind<{kind}>")}
    if kind in ("add", "mul"):
        # A tree of partial results instead of one long chain.
        attributes["fastmath"] = b.parsed("#arith.fastmath<reassoc>")
    return b.create(
        "vector.reduction", [b.type(element.register_name, 0)], [value], attributes
    ).results[0]
