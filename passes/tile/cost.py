"""Rough costs: enough to rank schedules, not to predict time.

The unit is one instruction on one full vector register.
"""

from collections.abc import Iterable

from girih.passes.tile.index import Affine, Coordinate, coordinates_of
from girih.passes.tile.nodes import (
    CheckedIndexNode,
    ComputeNode,
    ConstantNode,
    IndexNode,
    LoadNode,
    Node,
    ReduceNode,
    SelectNode,
)
from girih.passes.tile.sizes import is_constant

# Loads of lanes that are apart, of lanes at computed places, and of lanes that are
# contiguous along another coordinate, so that squares can be turned in registers.
STRIDED_LOAD = 10
GATHERED_LOAD = 16
TURNED_LOAD = 4
# Stores of lanes that are apart; nothing turns those.
STRIDED_STORE = 16
# A reduction across the lanes of a register, per row.
HORIZONTAL = 12


def node_cost(node: Node) -> int:
    """Instructions for one vector of the node's values, without its operands."""
    if isinstance(node, (ConstantNode, IndexNode)):
        return 0
    if isinstance(node, LoadNode):
        return 1 if node.element.computing == node.element else 2
    if isinstance(node, ComputeNode):
        return node.op.INSTRUCTIONS
    if isinstance(node, (SelectNode, CheckedIndexNode)):
        return 3
    return 1


def walk_cost(
    nodes: Iterable[Node],
    offsets: Iterable[Affine],
    along: Coordinate,
    turnable: frozenset[Coordinate],
) -> int:
    """Instructions per vector when vectors lie along a coordinate.

    Args:
        nodes: what the kernel computes.
        offsets: where it stores.
        along: the coordinate of the lanes.
        turnable: coordinates that a square can be turned from.
    """
    total = 0
    for node in nodes:
        if along not in node.coordinates:
            continue
        if isinstance(node, LoadNode):
            total += load_cost(node.offset, along, turnable)
        elif not isinstance(node, ReduceNode):
            total += node_cost(node)
    return total + sum(store_cost(offset, along) for offset in offsets)


def load_cost(
    offset: Affine, along: Coordinate, turnable: frozenset[Coordinate]
) -> int:
    """Instructions to load one vector along a coordinate."""
    if is_irregular(offset, along):
        return GATHERED_LOAD
    stride = offset.coefficient(along)
    if isinstance(stride, int) and stride in (-1, 0, 1):
        return (0, 1, 2)[stride]
    is_turned = any(is_constant(offset.coefficient(c), 1) for c in turnable)
    return TURNED_LOAD if is_turned else STRIDED_LOAD


def store_cost(offset: Affine, along: Coordinate) -> int:
    """Instructions to store one vector along a coordinate."""
    stride = offset.coefficient(along)
    if isinstance(stride, int) and stride in (0, 1):
        return stride
    return STRIDED_STORE


def is_irregular(offset: Affine, along: Coordinate) -> bool:
    """True where the offset depends on the coordinate other than linearly."""
    return any(
        atom != along and along in coordinates_of(Affine(((atom, 1),), 0))
        for atom, _ in offset.terms
    )
