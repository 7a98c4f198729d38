"""Chooses the schedule of a kernel on a GPU.

That is: along which coordinates the block lies, how large it is, whether reduced
coordinates fit into it, how many warps a program has.
"""

from collections import Counter
from dataclasses import replace

from girih.passes.tile.choose import split_passes
from girih.passes.tile.cost import is_irregular
from girih.passes.tile.domain import Formula
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.one_pass import (
    in_one_pass,
    rounds,
    with_reciprocals,
)
from girih.passes.tile.gpu.plan import (
    Block,
    BlockGrid,
    Peeling,
    is_multiple,
    steps_of,
)
from girih.passes.tile.gpu.split import should_split_blocks, split_blocks
from girih.passes.tile.index import Coordinate, affine, coordinates_of
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import Axis, Pass, SchedulePlan
from girih.passes.tile.sizes import is_constant, known, product
from girih.passes.tile.split import ARGUMENT_VALUES
from girih.passes.tile.subject import Subject, subject_of

Coordinates = tuple[Coordinate, ...]
# A block is turned where at least this part of the traffic (one of so many) needs it.
TURNED_SHARE = 4


def choose_block_schedule(
    formula: Formula, source: KernelSource, options: TileOptions
) -> SchedulePlan:
    """Decides how a kernel runs on a GPU."""
    subject = subject_of(with_reciprocals(formula), source, options)
    if any(is_constant(c.size, 0) for c in formula.parallel):
        reason = "the outputs have no elements"
        return SchedulePlan("empty", reason, (), (), is_blocked=True)
    return _reduction(subject) if subject.reductions else _pointwise(subject)


# Which coordinates ------------------------------------------------------------------


def _traffic(subject: Subject, along: Coordinate) -> int:
    """Bytes moved by accesses that are contiguous along a coordinate."""
    buffers = subject.source.buffers
    accesses = [(n.offset, n.buffer, n.coordinates) for n in subject.loads]
    accesses += [(s.offset, s.buffer, s.coordinates) for s in subject.formula.stores]
    total = 0
    for offset, buffer, coordinates in accesses:
        if is_constant(offset.coefficient(along), 1):
            points = product(known(c.size, policy.GUESSED_SIZE) for c in coordinates)
            total += points * buffers[buffer].element.bytes
    return total


def _columns(subject: Subject, among: Coordinates) -> Coordinate | None:
    """The coordinate that most bytes are contiguous along; later ones win ties."""
    best, best_traffic = None, -1
    for coordinate in among:
        traffic = _traffic(subject, coordinate)
        if traffic >= best_traffic:
            best, best_traffic = coordinate, traffic
    return best


def _is_gathered(subject: Subject, along: Coordinate) -> bool:
    """True where a load's place depends on the coordinate other than linearly."""
    return any(is_irregular(load.offset, along) for load in subject.loads)


def _rest(coordinates: Coordinates, *without: Coordinate | None) -> Coordinates:
    return tuple(c for c in coordinates if c not in without)


# Pointwise --------------------------------------------------------------------------


def _pointwise(subject: Subject) -> SchedulePlan:
    formula = subject.formula
    ordered = formula.parallel + formula.reduced
    columns = _columns(subject, ordered)
    others = _rest(ordered, columns)
    turned = _columns(subject, others)
    if _is_turned(subject, turned, columns):
        kind, blocks = "transposed", _turned_blocks(turned, columns)
    else:
        kind = "pointwise" if others else "flat"
        blocks = _pointwise_blocks(subject, columns, others)
    axes = _axes(ordered, blocks)
    passes = (Pass((), formula.stores, (), 0),)
    grid = _grid(subject, axes, blocks, (), passes)
    reason = f"{_sizes(ordered)} points, {_blocks_text(grid)}"
    return SchedulePlan(kind, reason, (grid,), (), is_blocked=True)


def _is_turned(
    subject: Subject, rows: Coordinate | None, columns: Coordinate | None
) -> bool:
    """True where much of what is moved is contiguous along the rows."""
    if rows is None or _is_gathered(subject, rows):
        return False
    return _traffic(subject, rows) * TURNED_SHARE >= _traffic(subject, columns)


def _turned_blocks(rows: Coordinate, columns: Coordinate) -> tuple[Block, ...]:
    sides = [policy.block_of(c.size, policy.TURNED_SIDE) for c in (rows, columns)]
    return (Block(rows, sides[0]), Block(columns, sides[1]))


def _pointwise_blocks(
    subject: Subject, columns: Coordinate | None, others: Coordinates
) -> tuple[Block, ...]:
    """Columns, and rows where those are too few for a program."""
    if columns is None:
        return ()
    width = policy.block_of(columns.size, policy.POINTWISE_ELEMENTS)
    own = Block(columns, width)
    rows = others[-1] if others else None
    if rows is None or width == policy.POINTWISE_ELEMENTS:
        return (own,)
    # A row that is looked up stays out of the block, or its loads become gathers.
    if width >= policy.THREADS and _is_gathered(subject, rows):
        return (own,)
    height = policy.block_of(rows.size, policy.POINTWISE_ELEMENTS // width)
    return (Block(rows, height), own)


# Reductions -------------------------------------------------------------------------


def _reduction(subject: Subject) -> SchedulePlan:
    formula = subject.formula
    columns = _columns(subject, formula.parallel + formula.reduced)
    is_rows = columns in formula.reduced
    choose = _row_blocks if is_rows else _column_blocks
    blocks = choose(subject, columns)
    grid = _reduction_grid(subject, blocks)
    if grid.walks:
        subject = _with_fewer_walks(subject)
        grid = _reduction_grid(subject, blocks)
    passes = grid.passes
    kind = "columns" if not is_rows else "rows" if grid.walks else "registers"
    reason = (
        f"{_sizes(formula.parallel)} results of {_sizes(formula.reduced)} elements,"
        f" {len(passes)} passes, {_blocks_text(grid)}"
    )
    if should_split_blocks(grid, subject):
        grids, locals_, text = split_blocks(grid, subject)
        plan = SchedulePlan(f"split {kind}", f"{reason}, {text}", grids, locals_)
        return replace(plan, is_blocked=True)
    return SchedulePlan(kind, reason, (grid,), (), is_blocked=True)


def _reduction_grid(subject: Subject, blocks: tuple[Block, ...]) -> BlockGrid:
    formula = subject.formula
    bound = [block.coordinate for block in blocks]
    passes, final = split_passes(formula, subject.reductions, formula.reduced)
    axes = _axes(formula.parallel, blocks)
    loops = _rest(formula.reduced, *bound)
    grid = _grid(subject, axes, blocks, loops, passes)
    grid = replace(grid, stores=final, peeling=_peeling(subject, blocks))
    return replace(grid, group=_group(subject, grid))


def _group(subject: Subject, grid: BlockGrid) -> int:
    """Elements that share an accumulator: those that a thread loads at once."""
    has_positions = any(node.name in ARGUMENT_VALUES for node in subject.reductions)
    if has_positions or not grid.walks or len(grid.blocks) != 1:
        return 1
    (own,) = grid.blocks
    if own.coordinate not in grid.reduced:
        return 1
    sizes = [
        subject.source.buffers[node.buffer].element.bytes
        for node in subject.loads
        if is_constant(node.offset.coefficient(own.coordinate), 1)
    ]
    group = policy.ACCESS_BYTES // max(sizes, default=policy.ACCESS_BYTES)
    return group if own.size >= group * policy.THREADS else 1


def _peeling(subject: Subject, blocks: tuple[Block, ...]) -> Peeling | None:
    """How the loop along rows is peeled; None where most accesses are aligned."""
    looped = [b.coordinate for b in blocks if b.is_looped]
    loads = [node for node in subject.loads if not node.guards]
    accesses = [(n.buffer, n.offset) for n in loads]
    accesses += [(s.buffer, s.offset) for s in subject.formula.stores]
    bound = frozenset(b.coordinate for b in blocks)
    found: Counter[tuple[Peeling, bool]] = Counter()
    for buffer, offset in accesses:
        along = next((c for c in looped if is_constant(offset.coefficient(c), 1)), None)
        if along is None:
            continue
        row = offset - affine({along: 1})
        if bound & coordinates_of(row):
            continue
        size = subject.source.buffers[buffer].element.bytes
        unit = policy.ACCESS_BYTES // size
        is_aligned = all(is_multiple(c, unit) for c in (row.const, *steps_of(row)))
        found[Peeling(along, row, unit), is_aligned] += size
    if not found:
        return None
    (peeling, is_aligned), _ = found.most_common(1)[0]
    return None if is_aligned else peeling


def _with_fewer_walks(subject: Subject) -> Subject:
    """The kernel with rounds of reductions merged, where that spares a walk."""
    formula = in_one_pass(subject.formula)
    merged = subject_of(formula, subject.source, subject.options)
    before = rounds(subject.formula, subject.reductions)
    return merged if rounds(formula, merged.reductions) < before else subject


def _row_blocks(subject: Subject, columns: Coordinate) -> tuple[Block, ...]:
    """Blocks of a reduction along contiguous memory: rows lie in the columns' dim."""
    formula = subject.formula
    others = _rest(formula.reduced, columns)
    length = columns.size if isinstance(columns.size, int) else None
    if length is not None and length <= policy.REGISTER_ROW:
        own = Block(columns, policy.power_of_two(length))
        if others:
            return _both_reduced(own, others[-1])
    else:
        limit = min(policy.ROW_CHUNK, policy.REDUCTION_ELEMENTS)
        own = Block(columns, limit, is_looped=True)
    space = policy.REDUCTION_ELEMENTS // own.size
    if not formula.parallel or others or space < 2:
        return (own,)
    rows = _columns(subject, formula.parallel)
    if own.size >= policy.THREADS * 4 and _is_gathered(subject, rows):
        return (own,)
    height = _height(subject, rows, space)
    return (Block(rows, height), own) if height > 1 else (own,)


def _both_reduced(own: Block, rows: Coordinate) -> tuple[Block, ...]:
    """A block over two reduced coordinates: short columns, looping over the rows."""
    space = policy.REDUCTION_ELEMENTS // own.size
    if space < 2:
        return (own,)
    height = min(space, policy.power_of_two(known(rows.size, space)))
    is_looped = not (isinstance(rows.size, int) and rows.size <= height)
    return (Block(rows, height, is_looped), own)


def _height(subject: Subject, rows: Coordinate, space: int) -> int:
    """Rows of a program: fewer where processors would be idle."""
    parallel = product(
        known(c.size, policy.GUESSED_SIZE) for c in subject.formula.parallel
    )
    height = min(space, policy.power_of_two(known(rows.size, space)))
    while height > 1 and parallel // height < 2 * subject.options.processors:
        height //= 2
    return height


def _column_blocks(subject: Subject, columns: Coordinate | None) -> tuple[Block, ...]:
    """Blocks of a reduction across memory: results lie in the columns' dim."""
    if columns is None:
        return ()
    reduced = subject.formula.reduced
    width = policy.block_of(columns.size, policy.COLUMNS)
    if not reduced:
        return (Block(columns, width),)
    rows = reduced[-1]
    length = policy.power_of_two(known(rows.size, policy.REDUCTION_ELEMENTS))
    rounds = max(node.level for node in subject.reductions)
    if isinstance(rows.size, int) and len(reduced) == 1:
        limit = policy.WHOLE_COLUMN if rounds > 1 or _stores_along(subject) else 0
        if length <= max(limit, policy.REDUCTION_ELEMENTS // width):
            narrow = max(policy.REGISTER_ROW // length, 2)
            return (Block(rows, length), Block(columns, min(width, narrow)))
    height = max(min(length, policy.REDUCTION_ELEMENTS // width), 2)
    return (Block(rows, height, is_looped=True), Block(columns, width))


def _stores_along(subject: Subject) -> bool:
    """True where values along reduced coordinates are stored after a reduction."""
    inside = frozenset(subject.formula.reduced)
    return any(store.coordinates & inside for store in subject.formula.stores)


# Grids ------------------------------------------------------------------------------


def _axes(parallel: Coordinates, blocks: tuple[Block, ...]) -> tuple[Axis, ...]:
    """One axis for each parallel coordinate: a block of it, or one value."""
    sizes = {block.coordinate: block.size for block in blocks}
    return tuple(Axis(c, sizes.get(c)) for c in parallel)


def _grid(
    subject: Subject,
    axes: tuple[Axis, ...],
    blocks: tuple[Block, ...],
    loops: Coordinates,
    passes: tuple[Pass, ...],
) -> BlockGrid:
    formula = subject.formula
    is_reduction = bool(subject.reductions)
    elements = product(block.size for block in blocks)
    return BlockGrid(
        axes=axes,
        blocks=blocks,
        loops=loops,
        reduced=formula.reduced if is_reduction else (),
        passes=passes,
        stores=(),
        substitutes=(),
        work=product(c.size for c in formula.parallel + formula.reduced),
        warps=policy.warps_of(elements),
        stages=subject.options.stages,
    )


def _sizes(coordinates: Coordinates) -> str:
    return " x ".join(str(c.size) for c in coordinates) or "1"


def _blocks_text(grid: BlockGrid) -> str:
    dims = [
        f"{block.size} along d{block.coordinate.key[0]} of {block.coordinate.size}"
        + (" in a loop" if block.is_looped else "")
        for block in grid.blocks
    ]
    elements = product(block.size for block in grid.blocks)
    share = max(elements // (grid.warps * policy.THREADS), 1)
    return (
        f"blocks of {' x '.join(dims) or 'one point'},"
        f" {grid.warps} warps of {share} elements a thread"
    )
