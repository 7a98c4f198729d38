"""Rough costs: enough to rank schedules, not to predict time.

The unit is one instruction on one full vector register.
"""

from collections.abc import Iterable

from girih.passes.tile.domain import Store
from girih.passes.tile.elements import Element
from girih.passes.tile.index import Affine, Coordinate, coordinates_of
from girih.passes.tile.interleaved import interleaved
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
from girih.passes.tile.pieces import longest_stride
from girih.passes.tile.sizes import Size, is_constant, known

# Loads of lanes that are apart, of lanes at computed places, and of lanes that are
# contiguous along another coordinate, so that squares can be turned in registers.
STRIDED_LOAD = 10
GATHERED_LOAD = 16
TURNED_LOAD = 4
# Loads of lanes that are each in a cache line of their own: the sum of every 7th column
# of 512 x 1024 floats takes 200 us with lanes down the rows, 43 along them
# (2026-11-24).
FAR_LOAD = 40
# Stores of lanes that are apart; nothing turns those.
STRIDED_STORE = 16
FAR_STORE = 40
# Bytes of a cache line.
LINE_BYTES = 64
# A reduction across the lanes of a register, per row.
HORIZONTAL = 12


def node_cost(node: Node) -> int:
    """Instructions for one vector of the node's values, without its operands."""
    if isinstance(node, (ConstantNode, IndexNode)):
        return 0
    if isinstance(node, LoadNode):
        return 1 if node.element.computing == node.element else 2
    if isinstance(node, ComputeNode):
        return node.op.INSTRUCTIONS if node.op else 1
    if isinstance(node, (SelectNode, CheckedIndexNode)):
        return 3
    return 1


def walk_cost(
    nodes: Iterable[Node],
    stores: Iterable[Store],
    along: Coordinate,
    turnable: frozenset[Coordinate],
) -> int:
    """Instructions per vector when vectors lie along a coordinate.

    Args:
        nodes: what the kernel computes.
        stores: what it stores.
        along: the coordinate of the lanes.
        turnable: coordinates that a square can be turned from.
    """
    total = 0
    for node in nodes:
        if along not in node.coordinates:
            continue
        if isinstance(node, LoadNode):
            total += load_cost(node, along, turnable)
        elif not isinstance(node, ReduceNode):
            total += node_cost(node)
    return total + sum(_row_cost(row, along) for row in interleaved(stores, along))


def _row_cost(row: tuple[Store, ...], along: Coordinate) -> int:
    """Instructions to store rows that lie between each other, or one that does not."""
    # Each vector in memory has lanes of each row.
    return store_cost(row[0], along) if len(row) == 1 else len(row) ** 2


def load_cost(
    load: LoadNode, along: Coordinate, turnable: frozenset[Coordinate]
) -> int:
    """Instructions to load one vector along a coordinate."""
    stride = longest_stride(load.offset, along)
    if stride is None:
        return GATHERED_LOAD
    if isinstance(stride, int) and stride in (-1, 0, 1):
        return (0, 1, 2)[stride]
    if any(is_constant(load.offset.coefficient(c), 1) for c in turnable):
        return TURNED_LOAD
    return FAR_LOAD if is_far(stride, load.element) else STRIDED_LOAD


def store_cost(store: Store, along: Coordinate) -> int:
    """Instructions to store one vector along a coordinate."""
    stride = store.offset.coefficient(along)
    if isinstance(stride, int) and stride in (0, 1):
        return stride
    return FAR_STORE if is_far(stride, store.node.element) else STRIDED_STORE


def is_far(stride: Size, element: Element) -> bool:
    """True where neighbouring lanes share no cache line; symbols are sizes of rows."""
    return abs(known(stride, LINE_BYTES)) * element.bytes >= LINE_BYTES


def is_irregular(offset: Affine, along: Coordinate) -> bool:
    """True where the offset depends on the coordinate other than linearly."""
    return any(
        atom != along and along in coordinates_of(Affine(((atom, 1),), 0))
        for atom, _ in offset.terms
    )
