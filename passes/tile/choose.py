"""Chooses the schedule of a kernel.

That is: which coordinate the vectors lie along, what a program does, how many passes
it makes over a row, what is kept between them.
"""

from dataclasses import replace

from girih.dialects.dims import ceildiv, maximum
from girih.passes.tile.domain import Formula, Store, reachable
from girih.passes.tile.index import Coordinate
from girih.passes.tile.keep import keep_values
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.nodes import Node, ReduceNode
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import Axis, Grid, Local, Pass, SchedulePlan
from girih.passes.tile.sizes import Size, is_constant, product
from girih.passes.tile.split import should_split, split_grid
from girih.passes.tile.transpose import transposed_schedule, with_turned_rows
from girih.passes.tile.widths import (
    choose_lanes,
    column_vectors,
    fits_registers,
    pointwise_vectors,
    power_of_two,
    with_blocks,
    with_lanes,
)


def choose_schedule(
    formula: Formula, source: KernelSource, options: TileOptions
) -> SchedulePlan:
    """Decides how a kernel runs."""
    nodes = reachable(formula.stores)
    reductions = [node for node in nodes if isinstance(node, ReduceNode)]
    if any(is_constant(c.size, 0) for c in formula.parallel):
        return SchedulePlan("empty", "the outputs have no elements", (), ())
    if not reductions:
        return _pointwise(formula, nodes, options, len(source.buffers))
    return _reduction(formula, source, nodes, options)


def _pointwise(
    formula: Formula, nodes: list[Node], options: TileOptions, buffers: int
) -> SchedulePlan:
    lanes, width = choose_lanes(formula, nodes, options)
    coordinates = formula.parallel + formula.reduced
    ordered = _last(coordinates, lanes)
    plan = transposed_schedule(formula, nodes, lanes, ordered, width, options, buffers)
    if plan is not None:
        return plan
    width *= pointwise_vectors(formula.stores, lanes, width)
    axes, loops = spread(ordered, lanes, width, 1, options)
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
        work=product(c.size for c in coordinates),
    )
    kind = "flat" if len(ordered) <= 1 else "pointwise"
    reason = f"{_sizes(ordered)} points, {width} lanes along {_name(lanes)}"
    return SchedulePlan(kind, reason, (grid,), ())


def _reduction(
    formula: Formula, source: KernelSource, nodes: list[Node], options: TileOptions
) -> SchedulePlan:
    lanes, width = choose_lanes(formula, nodes, options)
    lanes_of_register = width
    coordinates = formula.parallel + formula.reduced
    rows = lanes in formula.reduced
    parallel = _last(formula.parallel, lanes)
    reduced = _last(formula.reduced, lanes)
    passes, final = split_passes(formula, nodes, reduced)
    in_registers = rows and fits_registers(reduced, width)
    locals_: tuple[Local, ...] = ()
    if in_registers:
        width = power_of_two(reduced[-1].size)
    else:
        passes, locals_ = keep_values(formula, source, passes, reduced, lanes, options)
        if rows:
            passes = tuple(with_lanes(walk, width, lanes) for walk in passes)
        else:
            width *= column_vectors(nodes, lanes, width)
            passes = tuple(replace(walk, width=width) for walk in passes)
        passes = tuple(with_blocks(walk, reduced, lanes) for walk in passes)
    axes, loops = spread(
        parallel,
        None if rows else lanes,
        width,
        product(c.size for c in reduced),
        options,
    )
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
        work=product(c.size for c in coordinates),
    )
    kind = "registers" if in_registers else "rows" if rows else "columns"
    reason = (
        f"{_sizes(parallel)} results of {_sizes(reduced)} elements,"
        f" {len(passes)} passes, {width} lanes along {_name(lanes)}"
    )
    if should_split(grid, product(axis.programs for axis in axes), options):
        grids, locals_ = split_grid(grid, formula, len(source.buffers), options)
        parts = grids[0].axes[0]
        reason += f", {_name(parts.coordinate)} in {parts.programs} parts"
        return SchedulePlan(f"split {kind}", reason, grids, locals_)
    if rows:
        taken = len(source.buffers) + len(locals_)
        grid, turned = with_turned_rows(
            grid, formula, nodes, parallel, lanes_of_register, options, taken
        )
        locals_ += turned
        reason += f", {len(turned)} inputs turned in registers" if turned else ""
    return SchedulePlan(kind, reason, (grid,), locals_)


def _last(
    coordinates: tuple[Coordinate, ...], lanes: Coordinate | None
) -> tuple[Coordinate, ...]:
    """The coordinates with the lanes innermost."""
    if lanes not in coordinates:
        return coordinates
    return (*(c for c in coordinates if c != lanes), lanes)


def split_passes(
    formula: Formula, nodes: list[Node], reduced: tuple[Coordinate, ...]
) -> tuple[tuple[Pass, ...], tuple[Store, ...]]:
    """Sorts reductions and stores into walks over the row, and what comes after."""
    inside = frozenset(reduced)
    varying = [s for s in formula.stores if s.coordinates & inside]
    final = tuple(s for s in formula.stores if not s.coordinates & inside)
    reductions = [node for node in nodes if isinstance(node, ReduceNode)]
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
    """Values of a coordinate per program, a multiple of ``unit``."""
    wanted = maximum(1, ceildiv(grain, work)) if not isinstance(work, int) else None
    if wanted is None:
        wanted = max(-(-grain // max(work, 1)), 1)
    return ceildiv(wanted, unit) * unit


def _sizes(coordinates: tuple[Coordinate, ...]) -> str:
    return " x ".join(str(c.size) for c in coordinates) or "1"


def _name(coordinate: Coordinate | None) -> str:
    if coordinate is None:
        return "nothing"
    return f"d{coordinate.key[0]} of {coordinate.size}"
