"""Schedules pointwise kernels whose inputs and outputs lie along different dims.

Vectors lie along the output's contiguous coordinate. A load that is contiguous along
another coordinate would gather; instead each program handles a block of these two
coordinates and first copies the block of that input, square by square and turned in
registers, to a private buffer that is laid out like the output.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from girih.passes.tile.index import Affine, Coordinate, affine
from girih.passes.tile.nodes import LoadNode, Node
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import Axis, Grid, Local, Pass, SchedulePlan, Stage
from girih.passes.tile.sizes import Size, is_constant, known, product
from girih.passes.tile.subject import Subject
from girih.passes.tile.widths import (
    LARGEST_SQUARE,
    SMALLEST_SIDE,
    fits_turned,
    pointwise_vectors,
)

# Sides of a block in squares; a block of each staged input stays in the cache.
BLOCK_SQUARES = 4
# Stands for a symbolic size.
GUESSED_SIZE = 512


def transposed_schedule(
    subject: Subject, ordered: tuple[Coordinate, ...], width: int
) -> SchedulePlan | None:
    """The schedule with staged blocks, or None where nothing is to be turned.

    Args:
        subject: the kernel and the target.
        ordered: all coordinates, the lanes last.
        width: lanes of a full vector.
    """
    lanes = ordered[-1] if ordered else None
    rows = _rows(subject.loads, lanes, ordered)
    if rows is None:
        return None
    stores = subject.formula.stores
    turned = [load for load in subject.loads if _is_turned(load, rows, lanes)]
    work = product(c.size for c in ordered)
    side = _side(turned, width, work, subject.options)
    axes = tuple(_axis(c, rows, lanes, side) for c in ordered)
    block = _Block(
        place=_place_in_block(axes, rows, side),
        rows=rows,
        lanes=lanes,
        side=side,
        width=min(width, LARGEST_SQUARE),
        elements=side * side,
    )
    stages, substitutes, locals_ = _staged(turned, block, subject, ())
    width = min(width * pointwise_vectors(stores, lanes, width), side)
    grid = Grid(
        axes=axes,
        loops=(rows, lanes),
        reduced=(),
        lanes=lanes,
        width=width,
        passes=(Pass((), stores, (), width),),
        stores=(),
        in_registers=False,
        substitutes=substitutes,
        work=work,
        stages=stages,
    )
    reason = f"blocks of {side} x {side}, {len(turned)} inputs turned in registers"
    return SchedulePlan("transposed", reason, (grid,), locals_)


def _side(turned: list[LoadNode], width: int, work: Size, options: TileOptions) -> int:
    """The side of a block: some squares, as long as all staged blocks fit the cache.

    Data from memory is read in longer runs: 2048 x 2048 floats take 2.0 ms with blocks
    of 128 and 2.2 with blocks of 64, of 256 x 256 it is the other way (2026-11-20).
    """
    bytes_ = sum(load.element.bytes for load in turned)
    is_large = known(work, 0) * bytes_ > 4 * options.l2_bytes
    side = width * BLOCK_SQUARES * (2 if is_large else 1)
    limit = options.l2_bytes // 8 if is_large else options.l1_bytes // 2
    while side > width and bytes_ * side * side > limit:
        side //= 2
    return side


def with_turned_rows(
    subject: Subject,
    grid: Grid,
    locals_: tuple[Local, ...],
    parallel: tuple[Coordinate, ...],
) -> tuple[Grid, tuple[Local, ...]]:
    """A grid over rows that first copies a block of rows that lie across memory.

    The grid stays as it is where nothing is to be turned, or a block of whole rows is
    too large.

    Args:
        subject: the kernel and the target.
        grid: reduces along its lanes.
        locals_: the private buffers that the grid has already.
        parallel: the parallel coordinates, outermost first.
    """
    lanes = grid.lanes
    if grid.reduced != (lanes,) or not isinstance(lanes.size, int):
        return grid, locals_
    rows = _rows(subject.loads, lanes, parallel)
    if rows is None:
        return grid, locals_
    turned = [load for load in subject.loads if _is_turned(load, rows, lanes)]
    length = -(-lanes.size // LARGEST_SQUARE) * LARGEST_SQUARE
    if not fits_turned(length * len(turned), subject.options):
        return grid, locals_
    ordered = (*(c for c in parallel if c != rows), rows)
    axes = tuple(_axis(c, rows, rows, LARGEST_SQUARE) for c in ordered)
    block = _Block(
        place=affine(
            {rows: length, axes[-1].number: -LARGEST_SQUARE * length, lanes: 1}
        ),
        rows=rows,
        lanes=lanes,
        side=length,
        width=_square(turned, subject.options),
        elements=LARGEST_SQUARE * length,
    )
    stages, substitutes, added = _staged(turned, block, subject, locals_)
    grid = replace(
        grid, axes=axes, loops=(rows,), stages=stages, substitutes=substitutes
    )
    return grid, (*locals_, *added)


def _square(turned: list[LoadNode], options: TileOptions) -> int:
    """The side of the squares that fit the registers."""
    bits = max(load.element.bytes for load in turned) * 8
    return min(options.vector_bits // bits, LARGEST_SQUARE)


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
    turned: list[LoadNode],
    block: _Block,
    subject: Subject,
    locals_: tuple[Local, ...],
) -> tuple[tuple[Stage, ...], tuple[tuple[Node, Node], ...], tuple[Local, ...]]:
    """For each load its stage, the load that replaces it, and the private buffer."""
    stages, substitutes, added = [], [], []
    for number, load in enumerate(turned, start=subject.buffers + len(locals_)):
        added.append(Local(number, load.element, block.elements, is_shared=False))
        place = (block.place, block.rows, block.lanes, block.side, block.width)
        stages.append(Stage(load, number, *place))
        copy = LoadNode(load.element, buffer=number, offset=block.place)
        substitutes.append((load, subject.formula.table.add(copy, load.location)))
    return tuple(stages), tuple(substitutes), tuple(added)


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
    if not all(isinstance(atom, Coordinate) for atom, _ in load.offset.terms):
        return False  # a square is loaded by its strides
    step = load.offset.coefficient(lanes)
    return not (isinstance(step, int) and step in (-1, 0, 1))


def _axis(
    coordinate: Coordinate, rows: Coordinate, lanes: Coordinate, side: int
) -> Axis:
    if coordinate not in (rows, lanes):
        return Axis(coordinate)
    number = Coordinate((-2, *coordinate.key), coordinate.size)
    return Axis(coordinate, side, number)


def _place_in_block(axes: tuple[Axis, ...], rows: Coordinate, side: int) -> Affine:
    """The offset in a block's buffer: row by row of the output's layout."""
    row_axis = next(axis for axis in axes if axis.coordinate == rows)
    columns = axes[-1]
    return affine(
        {
            row_axis.coordinate: side,
            row_axis.number: -side * side,
            columns.coordinate: 1,
            columns.number: -side,
        }
    )
