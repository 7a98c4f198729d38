"""Reductions along columns that read whole rows, several of them at a time.

Vectors lie along the results, which are neighbours in memory, while the reduced
coordinate has the stride of a row. Accumulators of a few vectors fit into registers,
but then a program reads a short piece of each row, and no prefetcher of the processor
follows such steps. Here the accumulators of a block of columns lie in the first-level
cache: for ``ROWS`` rows at a time each column adds up its elements, and adds the sum to
its accumulator. So memory is read in as many streams as there are rows. Sums of 4096 x
3072 f32 that lie in memory took 4.4 ms with registers and 2.1 ms so, as long as sums of
the rows (one thread of an AMD EPYC with AVX-512, 2026-11-28).

Where many sums are added to an accumulator, a second one takes them over from time to
time, so that rounding errors stay small.
"""

from dataclasses import dataclass, replace

from girih.passes.tile.index import Affine, Coordinate, affine
from girih.passes.tile.nodes import LoadNode, Node, ReduceNode
from girih.passes.tile.plan import BLOCK_STEPS, Grid, Local
from girih.passes.tile.sizes import known, product
from girih.passes.tile.split import MAX_PARTIALS, WANTED_PROGRAMS, kept_element
from girih.passes.tile.subject import Subject

ROWS = 8
"""Rows that are read at a time: streams that prefetchers follow."""
VECTORS = 2
"""Vectors of neighbouring results at a time."""
MOST_COLUMNS = 1024
"""Columns of a block: their accumulators stay in the first-level cache."""
LEAST_COLUMNS = 256
"""Registers hold the accumulators of so many, and read rows of them from end to end."""
GUESSED_SIZE = 1 << 12
"""Stands for a symbolic size."""

_START = Coordinate((-3, 0), 0)


@dataclass(frozen=True, slots=True)
class Sums:
    """Where the accumulators of a reduction lie.

    Attributes:
        node: the reduction.
        current: loads the accumulator that sums of rows are added to.
        total: loads the result.
    """

    node: ReduceNode
    current: LoadNode
    total: LoadNode


@dataclass(frozen=True, slots=True)
class ColumnBlocks:
    """How the only pass of a grid is walked.

    Attributes:
        size: columns of a block.
        rows: rows that are read at a time.
        start: stands for the first column of a block.
        sums: one entry for each reduction.
        steps: values of the outermost reduced coordinate after which ``total`` takes
            ``current`` over; None where they are one.
    """

    size: int
    rows: int
    start: Coordinate
    sums: tuple[Sums, ...]
    steps: int | None


def block_size(subject: Subject, grid: Grid) -> int | None:
    """Columns of a block; None where registers are as good, or needed.

    Args:
        subject: The kernel.
        grid: Its only grid, which reduces along columns.
    """
    lanes = grid.lanes
    is_plain = len(grid.passes) == 1 and bool(grid.reduced) and lanes is not None
    if not is_plain or not isinstance(lanes.size, int) or lanes.size <= LEAST_COLUMNS:
        return None
    (walk,) = grid.passes
    if walk.stores or walk.keeps or not all(map(_is_summed(lanes), walk.reductions)):
        return None
    work = product(known(c.size, GUESSED_SIZE) for c in grid.reduced) * lanes.size
    if not any(_is_row(load, grid) for load in subject.loads):
        return None
    if work * 4 < subject.options.l2_bytes:
        return None
    return _fitting(lanes.size)


def _is_summed(lanes: Coordinate):
    def is_summed(node: ReduceNode) -> bool:
        varies = lanes in node.coordinates
        return varies and node.fold.is_plain and node.element.bits >= 8

    return is_summed


def _is_row(load: LoadNode, grid: Grid) -> bool:
    """Whether a load reads rows that lie apart, from end to end."""
    inner = grid.reduced[-1]
    stride = load.offset.coefficient(inner)
    is_apart = isinstance(stride, int) and abs(stride) >= LEAST_COLUMNS
    return is_apart and load.offset.coefficient(grid.lanes) == 1


def _fitting(columns: int) -> int:
    """Columns of a block: fewer where the blocks alone keep all threads busy."""
    if columns * WANTED_PROGRAMS <= MAX_PARTIALS:
        return MOST_COLUMNS  # Rows are split, too.
    share = columns // WANTED_PROGRAMS // LEAST_COLUMNS * LEAST_COLUMNS
    return min(max(share, LEAST_COLUMNS), MOST_COLUMNS)


def with_blocks(
    subject: Subject, grid: Grid, size: int, reductions: tuple[ReduceNode, ...]
) -> tuple[Grid, tuple[Local, ...]]:
    """The grid with accumulators in memory, and their buffers.

    Args:
        subject: The kernel.
        grid: Its only grid.
        size: Columns of a block.
        reductions: What its pass reduces.
    """
    steps = _steps(grid)
    start = replace(_START, size=grid.lanes.size)
    place = affine({grid.lanes: 1, start: -1})
    locals_: list[Local] = []
    sums = []

    def load(node: ReduceNode) -> Node:
        element = kept_element(node)
        number = subject.buffers + len(locals_)
        locals_.append(Local(number, element, size, is_shared=False))
        made = LoadNode(element, buffer=number, offset=Affine(place.terms, 0))
        return subject.formula.table.add(made, node.location)

    for node in reductions:
        current = load(node)
        sums.append(Sums(node, current, current if steps is None else load(node)))
    columns = ColumnBlocks(size, ROWS, start, tuple(sums), steps)
    return replace(grid, columns=columns), tuple(locals_)


def _steps(grid: Grid) -> int | None:
    outer, *rest = grid.reduced
    sums = [known(c.size, GUESSED_SIZE) for c in (outer, *rest)]
    sums[-1] = -(-sums[-1] // ROWS)
    if product(sums) <= 2 * BLOCK_STEPS:
        return None
    if not rest:
        return BLOCK_STEPS * ROWS
    return max(BLOCK_STEPS // product(sums[1:]), 1)
