"""Chooses the schedule of a kernel.

That is: which coordinate the vectors lie along, what a program does, how many passes
it makes over a row, what is kept between them.
"""

from dataclasses import replace

from girih.dialects.dims import ceildiv, maximum
from girih.passes.choices import USUAL, Choices
from girih.passes.tile.columns import VECTORS, block_size, with_blocks
from girih.passes.tile.domain import Formula, Store
from girih.passes.tile.index import Coordinate
from girih.passes.tile.keep import keep_values
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.nodes import ReduceNode
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import Axis, Grid, Local, Pass, SchedulePlan
from girih.passes.tile.sizes import Size, is_constant, product
from girih.passes.tile.split import should_split, split_grid
from girih.passes.tile.stretches import (
    Segments,
    choose_outer_segments,
    choose_segments,
)
from girih.passes.tile.subject import Subject, subject_of
from girih.passes.tile.transpose import transposed_schedule, with_turned_rows
from girih.passes.tile.widths import (
    choose_lanes,
    column_vectors,
    fits_registers,
    goes_by_elements,
    legal_lanes,
    pointwise_vectors,
    power_of_two,
    scan_vectors,
    vector_width,
    walks_with_lanes,
    with_bytes_apart,
    without_idle_lanes,
)


def choose_schedule(
    formula: Formula,
    source: KernelSource,
    options: TileOptions,
    choices: Choices = USUAL,
) -> SchedulePlan:
    """Decides how a kernel runs.

    Raises:
        ValueError: for closing reductions, which have a schedule on GPUs alone.
    """
    if formula.closing:
        raise ValueError(
            f"the kernel has closing dims {sorted(source.closing)}, which girih can "
            "schedule only on GPUs"
        )
    subject = subject_of(formula, source, options, choices)
    if any(is_constant(c.size, 0) for c in formula.parallel):
        return SchedulePlan("empty", "the outputs have no elements", (), ())
    if not choices.are_usual:
        subject = _with_chosen_options(subject)
    if subject.scans:
        return _scan(subject)
    return _reduction(subject) if subject.reductions else _pointwise(subject)


def _with_chosen_options(subject: Subject) -> Subject:
    """The kernel for a target that it may as well be for."""
    options = subject.options
    widest = options.vector_bits
    bits = [bits for bits in (128, 256, 512) if bits <= widest] or [widest]
    grain = options.parallel_grain
    chosen = replace(
        options,
        vector_bits=subject.pick("bits of vectors", widest, bits, bits[0]),
        parallel_grain=subject.pick("parallel grain", grain, (grain, 1, 1 << 20)),
    )
    return replace(subject, options=chosen)


def _lanes_of(subject: Subject) -> tuple[Coordinate | None, int]:
    """The coordinate along which vectors lie, and the lanes of a full register."""
    formula = subject.formula
    lanes, width = choose_lanes(formula, subject.nodes, subject.options)
    if subject.choices.are_usual or lanes is None:
        return lanes, width
    legal = legal_lanes(formula, subject.nodes)
    names = {_name(coordinate): coordinate for coordinate in legal}
    last = _name(legal[-1])
    picked = names[subject.pick("lanes along", _name(lanes), [*names], last)]
    if picked == lanes:
        return lanes, width
    stores = formula.stores
    return picked, vector_width(subject.nodes, stores, subject.options, (picked,))


def _factor(subject: Subject, usual: int) -> int:
    """How many vectors a loop has at a time."""
    if subject.choices.are_usual:
        return usual
    legal = sorted({usual, 1, 2, 4})
    return subject.pick("vectors at a time", usual, legal, 1)


def _segments(subject: Subject, lanes: Coordinate | None, width: int) -> Segments:
    """The stretches of the lanes' coordinate, where there are some."""
    found = choose_segments(subject, lanes, width)
    return found if found and subject.takes(f"{len(found)} segments") else ()


def _pointwise(subject: Subject) -> SchedulePlan:
    formula = subject.formula
    lanes, width = _lanes_of(subject)
    ordered = _last(formula.parallel + formula.reduced, lanes)
    plan = transposed_schedule(subject, ordered, width)
    if plan is not None and subject.takes("blocks that are turned"):
        return plan
    width *= _factor(subject, pointwise_vectors(formula.stores, lanes, width))
    width = with_bytes_apart(subject.nodes, lanes, width)
    axes, loops = spread(ordered, lanes, width, 1, subject.options)
    grid = Grid(
        axes=axes,
        loops=loops,
        reduced=(),
        lanes=lanes,
        width=width,
        passes=(Pass((), formula.stores, (), width),),
        stores=(),
        in_registers=False,
        substitutes=(),
        work=product(c.size for c in ordered),
        segments=_segments(subject, lanes, width),
    )
    if not grid.segments:
        grid = _with_outer_segments(subject, grid, ordered)
    kind = "flat" if len(ordered) <= 1 else "pointwise"
    reason = f"{_sizes(ordered)} points, {width} lanes along {_name(lanes)}"
    reason += _segments_text(grid)
    return SchedulePlan(kind, reason, (grid,), ())


def _with_outer_segments(
    subject: Subject, grid: Grid, ordered: tuple[Coordinate, ...]
) -> Grid:
    """The grid with stretches of a coordinate around the lanes', where that pays."""
    for place in range(len(ordered) - 1, -1, -1):
        coordinate = ordered[place]
        if coordinate == grid.lanes or subject.scans:
            continue
        found = choose_outer_segments(subject, coordinate)
        if not found or not subject.takes(f"{len(found)} outer segments"):
            continue
        # One value for each program becomes a loop over this value.
        axes = tuple(
            replace(axis, chunk=1)
            if axis.coordinate == coordinate and axis.chunk is None
            else axis
            for axis in grid.axes
        )
        loops = grid.loops
        if coordinate not in loops:
            loops = tuple(c for c in ordered if c in loops or c == coordinate)
        return replace(
            grid, axes=axes, loops=loops, segments=found, segmented=coordinate
        )
    return grid


def _reduction(subject: Subject) -> SchedulePlan:
    grid, locals_ = _reduction_grid(subject)
    rows = grid.lanes in grid.reduced
    kind = "registers" if grid.in_registers else "rows" if rows else "columns"
    parallel = _last(subject.formula.parallel, grid.lanes)
    reason = (
        f"{_sizes(parallel)} results of {_sizes(grid.reduced)} elements,"
        f" {len(grid.passes)} passes, {grid.width} lanes along {_name(grid.lanes)}"
    )
    if grid.columns is not None:
        reason += f", {grid.columns.size} at a time"
    if should_split(grid, subject.options) and subject.takes("split reduction"):
        grids, locals_ = split_grid(grid, subject, locals_)
        parts = grids[0].axes[0]
        reason += f", {_name(parts.coordinate)} in {parts.programs} parts"
        return SchedulePlan(f"split {kind}", reason, grids, locals_)
    if not grid.in_registers and grid.columns is None:
        width = max(walk.width for walk in grid.passes)
        segments = _segments(subject, grid.lanes, width)
        grid = replace(grid, segments=segments)
        reason += _segments_text(grid)
    if rows:
        turned = with_turned_rows(subject, grid, locals_, parallel)
        if turned[0].stages and subject.takes("rows that are turned"):
            grid, locals_ = turned
            reason += f", {len(grid.stages)} inputs turned in registers"
    return SchedulePlan(kind, reason, (grid,), locals_)


def _reduction_grid(subject: Subject) -> tuple[Grid, tuple[Local, ...]]:
    """The schedule of a reduction in one grid."""
    formula, options = subject.formula, subject.options
    lanes, width = _lanes_of(subject)
    rows = lanes in formula.reduced
    parallel = _last(formula.parallel, lanes)
    reduced = _last(formula.reduced, lanes)
    passes, final = split_passes(formula, subject.reductions, reduced)
    # A row that is read once is better read in stretches than gathered.
    is_cut = len(passes) == 1 and bool(choose_segments(subject, lanes, width))
    in_registers = rows and fits_registers(reduced, width) and not is_cut
    in_registers = in_registers and subject.takes("rows in registers")
    locals_: tuple[Local, ...] = ()
    if in_registers:
        width = power_of_two(reduced[-1].size)
    else:
        if not rows:
            vectors = column_vectors(subject.reductions, lanes, width)
            width *= _factor(subject, vectors)
        passes, locals_ = keep_values(subject, passes, reduced, lanes)
        passes = walks_with_lanes(passes, width, reduced, lanes)
    row_work = product(c.size for c in reduced)
    axes, loops = spread(parallel, None if rows else lanes, width, row_work, options)
    grid = Grid(
        axes=axes,
        loops=loops,
        reduced=reduced,
        lanes=lanes,
        width=width,
        passes=passes,
        stores=final,
        in_registers=in_registers,
        substitutes=(),
        work=row_work * product(c.size for c in parallel),
    )
    if rows:
        return grid, locals_
    size = block_size(subject, grid)
    if size is None or not subject.takes(f"blocks of {size} columns"):
        return grid, locals_
    axes, loops = spread(parallel, lanes, size, row_work, options)
    width = _lanes_of(subject)[1] * VECTORS
    passes = tuple(replace(walk, width=width) for walk in passes)
    grid = replace(grid, axes=axes, loops=loops, passes=passes, width=width)
    return with_blocks(subject, grid, size, passes[0].reductions)


def _scan(subject: Subject) -> SchedulePlan:
    """One walk along the scanned dim, with what comes before as an accumulator.

    Lanes lie along other points, each with a scan of its own, or along the scan.
    """
    formula, options = subject.formula, subject.options
    lanes, width = _lanes_of(subject)
    is_along = lanes in formula.reduced
    if not is_along:
        width *= _factor(subject, scan_vectors(lanes, width))
    if lanes is not None and isinstance(lanes.size, int):
        width = min(width, power_of_two(lanes.size))
        if is_along and goes_by_elements(subject.scans, lanes.size):
            lanes, width = None, 0
        elif is_along:
            width = without_idle_lanes(width, lanes.size)
    parallel = _last(formula.parallel, lanes)
    passes, final = split_passes(formula, [], formula.reduced)
    (walk,) = passes
    walk = replace(walk, width=width, scans=tuple(subject.scans))
    row_work = product(c.size for c in formula.reduced)
    along = None if is_along else lanes
    axes, loops = spread(parallel, along, width, row_work, options)
    grid = Grid(
        axes=axes,
        loops=loops,
        reduced=formula.reduced,
        lanes=lanes,
        width=width,
        passes=(walk,),
        stores=final,
        in_registers=False,
        substitutes=(),
        work=row_work * product(c.size for c in parallel),
    )
    reason = (
        f"{_sizes(parallel)} rows of {_sizes(formula.reduced)} elements, {width} lanes"
        f" along {_name(lanes)}"
    )
    return SchedulePlan("scan", reason, (grid,), ())


def _last(
    coordinates: tuple[Coordinate, ...], lanes: Coordinate | None
) -> tuple[Coordinate, ...]:
    """The coordinates with the lanes innermost."""
    if lanes not in coordinates:
        return coordinates
    return (*(c for c in coordinates if c != lanes), lanes)


def split_passes(
    formula: Formula,
    reductions: list[ReduceNode],
    reduced: tuple[Coordinate, ...],
) -> tuple[tuple[Pass, ...], tuple[Store, ...]]:
    """Sorts reductions and stores into walks over the row, and what comes after."""
    inside = frozenset(reduced)
    varying = [s for s in formula.stores if s.coordinates & inside]
    final = tuple(s for s in formula.stores if not s.coordinates & inside)
    count = max(
        [node.level for node in reductions] + [s.node.level + 1 for s in varying]
    )
    passes = tuple(
        Pass(
            tuple(node for node in reductions if node.level == number + 1),
            tuple(store for store in varying if store.node.level == number),
            (),
            0,
        )
        for number in range(count)
    )
    return passes, final


def spread(
    ordered: tuple[Coordinate, ...],
    lanes: Coordinate | None,
    width: int,
    work: Size,
    options: TileOptions,
) -> tuple[tuple[Axis, ...], tuple[Coordinate, ...]]:
    """Spreads parallel coordinates over programs of at least the grain of work.

    Args:
        ordered: parallel coordinates, outermost first.
        lanes: the coordinate that needs a loop in any case, if it is among them.
        width: lanes of that loop.
        work: elements for each point of these coordinates.
        options: gives the grain.

    Returns:
        The axes of the grid, and the coordinates that a program loops over.
    """
    for place in range(len(ordered) - 1, -1, -1):
        coordinate = ordered[place]
        total = work * coordinate.size
        enough = isinstance(total, int) and total >= options.parallel_grain
        if not enough and place and isinstance(coordinate.size, int):
            work = total
            continue
        unit = width if coordinate == lanes else 1
        chunk = _chunk(work, unit, options.parallel_grain)
        outer = tuple(Axis(c) for c in ordered[:place])
        if is_constant(chunk, 1):
            return (*outer, Axis(coordinate)), ordered[place + 1 :]
        return (*outer, Axis(coordinate, chunk)), ordered[place:]
    return (), ()


def _chunk(work: Size, unit: int, grain: int) -> Size:
    """Values of a coordinate per program, a multiple of ``unit``.

    A result may be the sum of no elements, so the work may be none.
    """
    if isinstance(work, int):
        wanted = max(-(-grain // max(work, 1)), 1)
    else:
        wanted = maximum(1, ceildiv(grain, maximum(1, work)))
    return ceildiv(wanted, unit) * unit


def _segments_text(grid: Grid) -> str:
    return f" in {len(grid.segments)} segments" if grid.segments else ""


def _sizes(coordinates: tuple[Coordinate, ...]) -> str:
    return " x ".join(str(c.size) for c in coordinates) or "1"


def _name(coordinate: Coordinate | None) -> str:
    if coordinate is None:
        return "nothing"
    return f"d{coordinate.key[0]} of {coordinate.size}"
