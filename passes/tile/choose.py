"""Chooses the schedule of a kernel.

That is: which coordinate the vectors lie along, what a program does, how many passes
it makes over a row, what is kept between them.
"""

from dataclasses import replace

from girih.dialects.dims import ceildiv, maximum
from girih.passes.tile.cost import HORIZONTAL, walk_cost
from girih.passes.tile.domain import Formula, Store, reachable
from girih.passes.tile.index import Coordinate
from girih.passes.tile.keep import keep_values, recompute_cost
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.nodes import (
    LoadNode,
    Node,
    ReduceNode,
)
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import BLOCK_STEPS, Axis, Grid, Local, Pass, SchedulePlan
from girih.passes.tile.sizes import Size, is_constant, known, product
from girih.passes.tile.split import should_split, split_grid
from girih.passes.tile.transpose import transposed_schedule

# Stands for a symbolic size where costs are compared.
GUESSED_SIZE = 512
# Rows of up to this many vectors stay in registers.
REGISTER_VECTORS = 4
# Accumulators of a column reduction: half of the registers there are.
COLUMN_VECTORS = 16
# Independent accumulators that hide the latency of an addition.
ACCUMULATORS = 4
# Sums of so many steps are added up in blocks.
LONG_SUM = 1024
# From this cost per element on, one vector in flight already fills the pipelines.
EXPENSIVE_BODY = 10


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
    coordinates = formula.parallel + formula.reduced
    rows = lanes in formula.reduced
    parallel = _last(formula.parallel, lanes)
    reduced = _last(formula.reduced, lanes)
    passes, final = split_passes(formula, nodes, reduced)
    in_registers = rows and _fits_registers(reduced, width)
    locals_: tuple[Local, ...] = ()
    if in_registers:
        width = _power_of_two(reduced[-1].size)
    else:
        width *= 1 if rows or lanes is None else _column_vectors(nodes, lanes, width)
        passes, locals_ = keep_values(formula, source, passes, reduced, lanes, options)
        passes = tuple(_with_width(p, width, rows) for p in passes)
        passes = tuple(_with_blocks(p, reduced, lanes) for p in passes)
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
    return SchedulePlan(kind, reason, (grid,), locals_)


def choose_lanes(
    formula: Formula, nodes: list[Node], options: TileOptions
) -> tuple[Coordinate | None, int]:
    """The coordinate along which vectors lie, and the lanes of a full register."""
    coordinates = formula.parallel + formula.reduced
    guess = vector_width(nodes, formula.stores, options, coordinates)
    lanes = _best_lanes(formula, nodes, coordinates, guess)
    return lanes, vector_width(nodes, formula.stores, options, (lanes,))


def vector_width(
    nodes: list[Node],
    stores: tuple[Store, ...],
    options: TileOptions,
    coordinates: tuple[Coordinate | None, ...],
) -> int:
    """Lanes of a full register of the widest type that varies over the coordinates.

    Positions and other integers that are only computed do not count: a mask made of
    64-bit positions takes two registers, but leaves the data full ones.
    """
    along = frozenset(coordinates)
    varying = [node for node in nodes if node.coordinates & along]
    elements = [
        node.element.computing
        for node in varying
        if isinstance(node, LoadNode) or node.element.is_float
    ]
    elements += [s.node.element.computing for s in stores if s.coordinates & along]
    elements += [
        node.operands[0].element.computing
        for node in nodes
        if isinstance(node, ReduceNode)
    ]
    bits = max((e.bits for e in elements if e.bits > 1), default=8)
    return max(options.vector_bits // bits, 2)


def _best_lanes(
    formula: Formula,
    nodes: list[Node],
    coordinates: tuple[Coordinate, ...],
    width: int,
) -> Coordinate | None:
    """The coordinate along which the walk costs least; later ones win ties."""
    best, best_cost = None, float("inf")
    offsets = [store.offset for store in formula.stores]
    reductions = sum(isinstance(node, ReduceNode) for node in nodes)
    for coordinate in coordinates:
        size = known(coordinate.size, GUESSED_SIZE)
        vectors = -(-size // width)
        cost = float(walk_cost(nodes, offsets, coordinate))
        if coordinate in formula.reduced:
            cost += reductions * HORIZONTAL / max(vectors, 1)
        cost *= vectors * width / max(size, 1)
        if cost <= best_cost:
            best, best_cost = coordinate, cost
    return best


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


def _with_width(walk: Pass, width: int, rows: bool) -> Pass:
    """Gives a pass its lanes: several accumulators where the body is cheap."""
    if not rows:
        return replace(walk, width=width)
    roots = [node.operands[0] for node in walk.reductions]
    unroll = _unroll(roots) if walk.reductions and not walk.keeps else 1
    return replace(walk, width=width * unroll)


def _column_vectors(nodes: list[Node], lanes: Coordinate, width: int) -> int:
    """Vectors of neighbouring results at a time: long runs of each row are read."""
    reductions = [node for node in nodes if isinstance(node, ReduceNode)]
    cost = max(recompute_cost(node) for node in nodes)
    vectors = COLUMN_VECTORS // len(reductions) if cost < EXPENSIVE_BODY else 1
    size = known(lanes.size, GUESSED_SIZE)
    while vectors > 1 and -size % (width * vectors) > size // 4:
        vectors //= 2
    return max(vectors, 1)


def _with_blocks(
    walk: Pass, reduced: tuple[Coordinate, ...], lanes: Coordinate | None
) -> Pass:
    """Adds long sums of floats in blocks, as eager does, to bound rounding errors."""
    names = {node.name for node in walk.reductions}
    is_sum = any(
        node.name == "reduce_sum" and node.element.is_float for node in walk.reductions
    )
    if not reduced or not is_sum or names & {"argmax", "argmin"}:
        return walk

    def steps(coordinate: Coordinate) -> int:
        width = walk.width if coordinate == lanes else 1
        return known(coordinate.size, LONG_SUM * width) // width

    longest = max(reduced, key=steps)
    if steps(longest) <= BLOCK_STEPS or product(map(steps, reduced)) < LONG_SUM:
        return walk
    return replace(walk, blocked=longest)


def _unroll(nodes: list[Node]) -> int:
    expensive = any(recompute_cost(node) >= EXPENSIVE_BODY for node in nodes)
    return 1 if expensive else ACCUMULATORS


def _fits_registers(reduced: tuple[Coordinate, ...], width: int) -> bool:
    if len(reduced) != 1 or not isinstance(reduced[0].size, int):
        return False
    return 0 < reduced[0].size <= REGISTER_VECTORS * width


def _power_of_two(size: int) -> int:
    # LLVM widens vectors of other lengths to the next power of two anyway.
    return max(1 << (size - 1).bit_length(), 2)


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
