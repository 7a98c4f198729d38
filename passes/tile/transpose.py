"""Schedules pointwise kernels whose inputs and outputs lie along different dims.

Vectors lie along the output's contiguous coordinate. A load that is contiguous along
another coordinate would gather; instead each program handles a block of these two
coordinates and first copies the block of that input, square by square and turned in
registers, to a private buffer that is laid out like the output.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from girih.passes.tile.domain import Formula
from girih.passes.tile.index import Affine, Coordinate, affine
from girih.passes.tile.nodes import LoadNode, Node
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import Axis, Grid, Local, Pass, SchedulePlan, Stage
from girih.passes.tile.sizes import is_constant, known, product
from girih.passes.tile.widths import (
    MIN_BLOCK_ROWS,
    SMALLEST_SIDE,
    fits_turned,
    pointwise_vectors,
)

# Sides of a block in squares; a block of each staged input stays in the cache.
BLOCK_SQUARES = 4
# Stands for a symbolic size.
GUESSED_SIZE = 512


def transposed_schedule(
    formula: Formula,
    nodes: list[Node],
    lanes: Coordinate | None,
    ordered: tuple[Coordinate, ...],
    width: int,
    options: TileOptions,
    buffers: int,
) -> SchedulePlan | None:
    """The schedule with staged blocks, or None where nothing is to be turned.

    Args:
        formula: the kernel.
        nodes: the nodes that it needs.
        lanes: the coordinate along which vectors lie.
        ordered: all coordinates, the lanes last.
        width: lanes of a full vector.
        options: cache sizes.
        buffers: how many buffer numbers are taken.
    """
    loads = [node for node in nodes if isinstance(node, LoadNode)]
    rows = _rows(loads, lanes, ordered)
    if rows is None:
        return None
    turned = [load for load in loads if _is_turned(load, rows, lanes)]
    side = width * BLOCK_SQUARES
    while side > width and _block_bytes(turned, side) > options.l1_bytes // 2:
        side //= 2
    axes = tuple(_axis(c, rows, lanes, side) for c in ordered)
    row_axis = next(axis for axis in axes if axis.coordinate == rows)
    place = _place_in_block(row_axis, axes[-1], side)
    shape = _Block(place, rows, lanes, side, width, side * side)
    stages, substitutes, locals_ = _staged(turned, shape, formula, buffers)
    vectors = pointwise_vectors(formula.stores, lanes, width)
    lanes_width = min(width * vectors, side)
    grid = Grid(
        axes=axes,
        loops=(rows, lanes),
        reduced=(),
        lanes=lanes,
        width=lanes_width,
        passes=(Pass((), formula.stores, (), lanes_width),),
        stores=(),
        in_registers=False,
        substitutes=substitutes,
        work=product(c.size for c in ordered),
        stages=stages,
    )
    reason = f"blocks of {side} x {side}, {len(turned)} inputs turned in registers"
    return SchedulePlan("transposed", reason, (grid,), locals_)


def with_turned_rows(
    grid: Grid,
    formula: Formula,
    nodes: list[Node],
    parallel: tuple[Coordinate, ...],
    width: int,
    options: TileOptions,
    buffers: int,
) -> tuple[Grid, tuple[Local, ...]]:
    """A grid over rows that first copies a block of rows that lie across memory.

    The grid stays as it is where nothing is to be turned, or a block of whole rows is
    too large.

    Args:
        grid: reduces along its lanes.
        formula: gives the node table.
        nodes: the nodes that the kernel needs.
        parallel: the parallel coordinates, outermost first.
        width: lanes of a full vector.
        options: cache sizes.
        buffers: how many buffer numbers are taken.
    """
    lanes = grid.lanes
    if grid.reduced != (lanes,) or not isinstance(lanes.size, int):
        return grid, ()
    loads = [node for node in nodes if isinstance(node, LoadNode)]
    rows = _rows(loads, lanes, parallel)
    if rows is None:
        return grid, ()
    turned = [load for load in loads if _is_turned(load, rows, lanes)]
    row_length = -(-lanes.size // width) * width
    side = max(width, MIN_BLOCK_ROWS)
    if not fits_turned(row_length * len(turned), options):
        return grid, ()
    ordered = (*(c for c in parallel if c != rows), rows)
    axes = tuple(_axis(c, rows, rows, side) for c in ordered)
    place = affine({rows: row_length, axes[-1].number: -side * row_length, lanes: 1})
    shape = _Block(place, rows, lanes, row_length, width, side * row_length)
    stages, substitutes, locals_ = _staged(turned, shape, formula, buffers)
    grid = replace(
        grid,
        axes=axes,
        loops=(rows,),
        stages=stages,
        substitutes=substitutes,
    )
    return grid, locals_


@dataclass(frozen=True, slots=True)
class _Block:
    """How blocks lie in their private buffers; the fields are those of ``Stage``."""

    place: Affine
    rows: Coordinate
    lanes: Coordinate
    side: int
    width: int
    elements: int


def _staged(
    turned: list[LoadNode], block: _Block, formula: Formula, buffers: int
) -> tuple[tuple[Stage, ...], tuple[tuple[Node, Node], ...], tuple[Local, ...]]:
    """For each load its stage, the load that replaces it, and the private buffer."""
    stages, substitutes, locals_ = [], [], []
    for number, load in enumerate(turned, start=buffers):
        locals_.append(Local(number, load.element, block.elements, is_shared=False))
        stages.append(
            Stage(
                load,
                number,
                block.place,
                block.rows,
                block.lanes,
                block.side,
                block.width,
            )
        )
        copy = LoadNode(load.element, buffer=number, offset=block.place)
        substitutes.append((load, formula.table.add(copy, load.location)))
    return tuple(stages), tuple(substitutes), tuple(locals_)


def _rows(
    loads: Iterable[LoadNode], lanes: Coordinate | None, ordered: tuple[Coordinate, ...]
) -> Coordinate | None:
    """The coordinate along which most of the loads to be turned are contiguous."""
    votes: Counter[Coordinate] = Counter()
    if lanes is None or known(lanes.size, GUESSED_SIZE) < SMALLEST_SIDE:
        return None
    for load in loads:
        for coordinate in ordered:
            if _is_turned(load, coordinate, lanes):
                votes[coordinate] += load.element.bytes
    large = [c for c in votes if known(c.size, GUESSED_SIZE) >= SMALLEST_SIDE]
    return max(large, key=votes.__getitem__, default=None)


def _is_turned(load: LoadNode, rows: Coordinate, lanes: Coordinate) -> bool:
    """True where a load is contiguous along ``rows`` and apart along the lanes."""
    if (
        load.guards
        or rows == lanes
        or not is_constant(load.offset.coefficient(rows), 1)
    ):
        return False
    plain = {atom for atom, _ in load.offset.terms if isinstance(atom, Coordinate)}
    if plain != load.coordinates:
        return False
    step = load.offset.coefficient(lanes)
    return not (isinstance(step, int) and step in (-1, 0, 1))


def _block_bytes(turned: list[LoadNode], side: int) -> int:
    return sum(load.element.bytes for load in turned) * side * side


def _axis(
    coordinate: Coordinate, rows: Coordinate, lanes: Coordinate, side: int
) -> Axis:
    if coordinate not in (rows, lanes):
        return Axis(coordinate)
    number = Coordinate((-2, *coordinate.key), coordinate.size)
    return Axis(coordinate, side, number)


def _place_in_block(rows: Axis, columns: Axis, side: int) -> Affine:
    """The offset in a block's buffer: row by row of the output's layout."""
    return affine(
        {
            rows.coordinate: side,
            rows.number: -side * side,
            columns.coordinate: 1,
            columns.number: -side,
        }
    )
