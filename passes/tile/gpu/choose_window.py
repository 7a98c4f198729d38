"""Chooses how a reduction over small windows runs on a GPU.

Results lie side by side where the windows do, as points of a pointwise kernel; each
thread walks through the windows of its results. A schedule along rows would take the
few elements of a window for a row: a maximum over windows of 3 x 3 of 32 x 64 x 112 x
112 halves takes 3.9 ms so (H100, 2026-11-26).
"""

from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.coordinates import (
    Coordinates,
    columns_of,
    is_gathered,
    rest,
    step_along,
)
from girih.passes.tile.gpu.linear import windows_in_one_row
from girih.passes.tile.gpu.one_pass import rounds
from girih.passes.tile.gpu.plan import Block
from girih.passes.tile.gpu.policy import Share
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import LoadNode
from girih.passes.tile.sizes import is_constant, known, product
from girih.passes.tile.subject import Subject


def is_over_windows(subject: Subject) -> bool:
    """Whether a kernel reduces windows along several dims, or very few elements, once.

    Where it reads the elements again, as a softmax does, registers hold them.
    """
    reduced = subject.formula.reduced
    if not reduced or not all(isinstance(c.size, int) for c in reduced):
        return False
    is_long = len(reduced) == 1 and reduced[0].size > policy.FARTHEST_WINDOWS
    if is_long and not _slides(subject):
        return False
    stored = [store.coordinates for store in subject.formula.stores]
    is_read_again = rounds(subject.formula, subject.reductions) > 1
    if is_read_again or any(own & frozenset(reduced) for own in stored):
        return False
    if product(c.size for c in reduced) > policy.LARGEST_WINDOW:
        return False
    return _side(subject) is not None


def _slides(subject: Subject) -> bool:
    """Whether a row of results has windows of one row, each a step after the other.

    Neighbours find most elements of theirs in the nearest cache. As columns, a sum over
    25 elements for each of 13053 x 256 and its gradient take 92 us with their
    neighbours, as columns 197 (f32, H100, 2026-11-27).
    """
    (reduced,) = subject.formula.reduced
    columns = columns_of(subject, subject.formula.parallel)
    if columns is None:
        return False
    return all(
        step_along(load.offset, columns) == step_along(load.offset, reduced)
        for load in subject.loads
        if reduced in load.coordinates
    )


def window_blocks(subject: Subject) -> tuple[Subject, tuple[Block, ...], Share]:
    """The kernel, blocks of its results, and what a program has of them.

    Short rows of results become one row. Longer ones are the columns of blocks, with
    some rows where they are too short for a program, or read what others read.
    """
    columns = _side(subject)
    rows = _other_side(subject, columns)
    if rows is not None:
        return subject, *_blocks_of_pairs(subject, rows, columns)
    beside = _share_beside(subject, columns)
    share = beside or _share(subject, columns)
    is_short = known(columns.size, policy.LONG_WINDOWS) < policy.LONG_WINDOWS
    if is_short and share is not policy.FEW_WINDOWS_APART:
        joined = windows_in_one_row(subject, columns)
        if joined is not None:
            return joined, *_blocks_of_row(joined, beside)
    return subject, _blocks(subject, columns, share), share


def _other_side(subject: Subject, columns: Coordinate) -> Coordinate | None:
    """Rows of results of which each reads windows of its own beside those of columns.

    So do distances of all pairs of points. None where there are none.
    """
    others = rest(subject.formula.parallel, columns)
    if not others or known(columns.size, policy.GUESSED_SIZE) < policy.LEAST_PAIRED:
        return None
    rows, reduced = others[-1], frozenset(subject.formula.reduced)
    sides = [
        load.coordinates & {rows, columns}
        for load in subject.loads
        if load.coordinates & reduced
    ]
    are_apart = all(len(side) == 1 for side in sides)
    is_pairing = are_apart and {rows} in sides and {columns} in sides
    return rows if is_pairing and not is_gathered(subject, rows) else None


def _blocks_of_pairs(
    subject: Subject, rows: Coordinate, columns: Coordinate
) -> tuple[tuple[Block, ...], Share]:
    """Some of each set, and what a program has of them."""
    of_processor = _results_of_processor(subject)
    most = next(n for least, n in policy.PAIRED_ROWS if of_processor >= least)
    height = policy.block_of(rows.size, most)
    width = policy.block_of(columns.size, policy.PAIRED_COLUMNS)
    of_thread = height * policy.OF_PAIRED_ROW
    share = Share(height * width, of_thread, stages=1)
    return (Block(rows, height), Block(columns, width)), share


def _blocks_of_row(
    subject: Subject, beside: Share | None
) -> tuple[tuple[Block, ...], Share]:
    (whole,) = subject.formula.parallel
    are_many = whole.size >= policy.MANY_WINDOWS * subject.options.processors
    share = policy.MANY_JOINED_WINDOWS if are_many else policy.JOINED_WINDOWS
    share = beside or share
    return (Block(whole, policy.block_of(whole.size, share.elements)),), share


def _blocks(subject: Subject, columns: Coordinate, share: Share) -> tuple[Block, ...]:
    width = policy.block_of(columns.size, share.elements)
    own = Block(columns, width)
    others = rest(subject.formula.parallel, columns)
    if width == share.elements or not others:
        return (own,)
    rows = others[-1]
    height = policy.block_of(rows.size, share.elements // width)
    if height < 2 or is_gathered(subject, rows):
        return (own,)
    return (Block(rows, height), own)


def _share(subject: Subject, columns: Coordinate) -> Share:
    """Fewer results a thread where blocks leave no point of a row outside.

    Not where a result takes few loads: then programs are short, and many.
    """
    size = known(columns.size, 1)
    is_covered = policy.power_of_two(size) == size or size > policy.WINDOWS.elements
    reduced = frozenset(subject.formula.reduced)
    loads = sum(1 for load in subject.loads if load.coordinates & reduced)
    is_long = loads * product(c.size for c in reduced) >= policy.MANY_LOADS
    if _are_apart(subject, columns):
        if not is_long:
            return policy.SHORT_WINDOWS_APART
        if size <= policy.FEW_WINDOWS:
            return policy.FEW_WINDOWS_APART
    return policy.COVERED_WINDOWS if is_covered and is_long else policy.WINDOWS


def _share_beside(subject: Subject, columns: Coordinate) -> Share | None:
    """What a program has of windows beside those of neighbours; None for others.

    Nor where there are few results, as threads would be idle.
    """
    reduced = frozenset(subject.formula.reduced)
    loads = [load for load in subject.loads if load.coordinates & reduced]
    along = [load for load in loads if columns in load.coordinates]
    are_few = _results_of_processor(subject) < policy.THREADS_IDLE
    if are_few or not along or not all(_is_beside(x, columns, reduced) for x in along):
        return None
    buffers = subject.source.buffers
    widest = max(buffers[load.buffer].element.bytes for load in along)
    return Share(policy.BESIDE, max(policy.BESIDE_BYTES // widest, 1), stages=1)


def _is_beside(
    load: LoadNode, columns: Coordinate, reduced: frozenset[Coordinate]
) -> bool:
    """Whether neighbours read next to each other, and none what the other reads."""
    steps = [step_along(load.offset, c) for c in reduced & load.coordinates]
    are_apart = all(isinstance(step, int) and abs(step) > 1 for step in steps)
    return are_apart and _step(load, columns) == 1


def _results_of_processor(subject: Subject) -> int:
    sizes = (known(c.size, policy.GUESSED_SIZE) for c in subject.formula.parallel)
    return product(sizes) // subject.options.processors


def _are_apart(subject: Subject, columns: Coordinate) -> bool:
    """Whether no two windows of a row have an element in common."""
    reduced = frozenset(subject.formula.reduced)
    loads = [load for load in subject.loads if load.coordinates & reduced]
    return all(_reach(load, reduced) <= _step(load, columns) for load in loads)


def _reach(load: LoadNode, reduced: frozenset[Coordinate]) -> int:
    """Elements of a window that lie next to each other."""
    own = [c for c in reduced if is_constant(load.offset.coefficient(c), 1)]
    return product(c.size for c in own)


def _step(load: LoadNode, columns: Coordinate) -> int:
    return known(step_along(load.offset, columns) or 0, 0)


def _side(subject: Subject) -> Coordinate | None:
    """The coordinate of results along which their windows lie close together."""
    parallel: Coordinates = subject.formula.parallel
    columns = columns_of(subject, parallel)
    if columns is None:
        return None
    steps = [step_along(load.offset, columns) for load in subject.loads]
    if any(step is None for step in steps):
        return None
    steps = [
        known(step, policy.FARTHEST_WINDOWS + 1)
        for load, step in zip(subject.loads, steps, strict=True)
        if load.coordinates & frozenset(subject.formula.reduced)
    ]
    is_close = all(0 <= step <= policy.FARTHEST_WINDOWS for step in steps)
    return columns if is_close and any(steps) else None
