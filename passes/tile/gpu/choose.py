"""Chooses the schedule of a kernel on a GPU.

That is: along which coordinates the block lies, how large it is, whether reduced
coordinates fit into it, how many warps a program has.
"""

from girih.passes.choices import USUAL, Choices
from girih.passes.tile.cost import is_irregular, node_cost
from girih.passes.tile.domain import Formula, Store
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.choose_closing import choose_closing
from girih.passes.tile.gpu.choose_reduction import choose_reduction
from girih.passes.tile.gpu.choose_scan import choose_scan
from girih.passes.tile.gpu.coordinates import (
    Coordinates,
    columns_of,
    is_gathered,
    rest,
    shared_out,
    traffic,
)
from girih.passes.tile.gpu.flatten import with_flat_rows
from girih.passes.tile.gpu.grids import axes_of, blocks_text, make_grid, sizes_text
from girih.passes.tile.gpu.linear import in_one_row, is_poor
from girih.passes.tile.gpu.plan import Block, is_multiple
from girih.passes.tile.gpu.policy import Share
from girih.passes.tile.gpu.quotients import with_reciprocals
from girih.passes.tile.index import Coordinate, coordinates_of, of
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import Pass, SchedulePlan
from girih.passes.tile.sizes import is_constant, known, product
from girih.passes.tile.subject import Subject, subject_of

# A block is turned where at least this part of the traffic (one of so many) needs it.
TURNED_SHARE = 4


def choose_block_schedule(
    formula: Formula,
    source: KernelSource,
    options: TileOptions,
    choices: Choices = USUAL,
) -> SchedulePlan:
    """Decides how a kernel runs on a GPU."""
    subject = subject_of(with_reciprocals(formula), source, options, choices)
    if any(is_constant(c.size, 0) for c in formula.parallel):
        reason = "the outputs have no elements"
        return SchedulePlan("empty", reason, (), (), is_blocked=True)
    if formula.closing:
        return choose_closing(subject)
    if subject.scans:
        return choose_scan(subject)
    return choose_reduction(subject) if subject.reductions else _pointwise(subject)


def _pointwise(subject: Subject) -> SchedulePlan:
    updates = _share_of_updates(subject)
    row = in_one_row(subject) if updates else None
    if row is not None:
        return _in_one_row(row, updates)
    subject = with_flat_rows(subject)
    ordered = _ordered(subject)
    columns = columns_of(subject, ordered)
    others = rest(ordered, columns)
    turned = columns_of(subject, others)
    if _is_turned(subject, turned, columns):
        kind = "transposed"
        share = shared_out(subject, _turned_share(subject), columns)
        blocks = _turned_blocks(turned, columns)
    else:
        kind = "pointwise" if others else "flat"
        share = shared_out(subject, _share(subject), columns)
        blocks = _pointwise_blocks(subject, columns, others, share)
    if others and is_poor(ordered, blocks, is_turned=kind == "transposed"):
        row = in_one_row(subject)
        if row is not None:
            return _in_one_row(row, _share_of_row(row))
    passes = (Pass((), subject.formula.stores, (), 0),)
    grid = make_grid(subject, axes_of(ordered, blocks), blocks, passes, share)
    reason = f"{sizes_text(ordered)} points, {blocks_text(grid)}"
    return SchedulePlan(kind, reason, (grid,), (), is_blocked=True)


def _in_one_row(subject: Subject, own: Share) -> SchedulePlan:
    (whole,) = subject.formula.parallel
    share = shared_out(subject, own, whole)
    blocks = (Block(whole, policy.block_of(whole.size, share.elements)),)
    passes = (Pass((), subject.formula.stores, (), 0),)
    grid = make_grid(subject, axes_of((whole,), blocks), blocks, passes, share)
    reason = f"{whole.size} points in the order of the results, {blocks_text(grid)}"
    return SchedulePlan("linear", reason, (grid,), (), is_blocked=True)


def _share_of_row(subject: Subject) -> Share:
    (whole,) = subject.formula.parallel
    loads = [load for load in subject.loads if whole in load.coordinates]
    is_gathering = loads and all(is_irregular(load.offset, whole) for load in loads)
    if not is_gathering:
        return _share(subject)
    is_costly, of_processor = _is_costly(subject), _of_processor(subject)
    return policy.GATHERED.for_points(of_processor, is_costly=is_costly)


def _share_of_updates(subject: Subject) -> Share | None:
    """What a program has to do that adds to elements in memory; None for others."""
    stores = [store for store in subject.formula.stores if store.accumulates]
    if not stores:
        return None
    buffers = subject.source.buffers
    is_narrow = min(buffers[store.buffer].element.bytes for store in stores) < 4
    columns = subject.formula.parallel[-1:]
    if not all(_is_along(store, columns) for store in stores):
        return policy.NARROW_SCATTERED if is_narrow else policy.SCATTERED
    return policy.NARROW_UPDATES if is_narrow else policy.UPDATES


def _is_along(store: Store, columns: Coordinates) -> bool:
    """Whether neighbours go to neighbours, at whatever place the first one does."""
    if not columns or not is_constant(store.offset.coefficient(columns[0]), 1):
        return False
    atoms = [atom for atom, _ in store.offset.terms if atom != columns[0]]
    return all(columns[0] not in coordinates_of(of(atom)) for atom in atoms)


def _share(subject: Subject) -> Share:
    if updates := _share_of_updates(subject):
        return updates
    is_costly = _is_costly(subject)
    has_erf = any(
        getattr(node, "name", "") in ("erf", "erfc") for node in subject.nodes
    )
    of_processor = _of_processor(subject)
    are_many = of_processor >= policy.MANY_COSTLY
    share = policy.COSTLY if are_many else policy.FEWER_COSTLY
    if has_erf:
        share, is_costly = policy.WITH_ERF, False
    elif not is_costly:
        share = policy.POINTWISE
    return share.for_points(of_processor, is_costly=is_costly)


def _is_costly(subject: Subject) -> bool:
    """Whether arithmetic, not memory, is what one waits for."""
    return sum(map(node_cost, subject.nodes)) > policy.MUCH_ARITHMETIC


def _of_processor(subject: Subject) -> int:
    """Points that a processor of the device has, about."""
    points = product(known(c.size, policy.GUESSED_SIZE) for c in _ordered(subject))
    return points // subject.options.processors


def _ordered(subject: Subject) -> Coordinates:
    return subject.formula.parallel + subject.formula.reduced


def _is_turned(
    subject: Subject, rows: Coordinate | None, columns: Coordinate | None
) -> bool:
    """True where much of what is moved is contiguous along the rows."""
    if rows is None or is_gathered(subject, rows):
        return False
    return traffic(subject, rows) * TURNED_SHARE >= traffic(subject, columns)


def _turned_share(subject: Subject) -> Share:
    buffers = subject.source.buffers
    accesses = [*subject.loads, *subject.formula.stores]
    widest = max(buffers[access.buffer].element.bytes for access in accesses)
    elements = policy.TURNED_SIDE * policy.TURNED_SIDE
    return Share(elements, max(policy.TURNED_BYTES // widest, 1))


def _turned_blocks(rows: Coordinate, columns: Coordinate) -> tuple[Block, ...]:
    sides = [policy.block_of(c.size, policy.TURNED_SIDE) for c in (rows, columns)]
    space = policy.TURNED_SIDE * policy.TURNED_SIDE // 2
    # A short side leaves room for more of the other.
    if sides[1] < policy.TURNED_SIDE:
        sides[0] = policy.block_of(rows.size, max(space // sides[1], sides[0]))
    elif sides[0] < policy.TURNED_SIDE:
        sides[1] = policy.block_of(columns.size, max(space // sides[0], sides[1]))
    return (Block(rows, sides[0]), Block(columns, sides[1]))


def _has_narrow_masks(columns: Coordinate, width: int) -> bool:
    """True where a mask of the last points would make all accesses narrow.

    Masks are of whole accesses only where sizes are multiples of them. Elsewhere whole
    blocks have no mask: they take another way through a program, a loop of one step.
    """
    is_long = not isinstance(columns.size, int) or columns.size >= width
    return is_long and not is_multiple(columns.size, policy.ACCESS_BYTES)


def _pointwise_blocks(
    subject: Subject, columns: Coordinate | None, others: Coordinates, share: Share
) -> tuple[Block, ...]:
    """Columns, and rows where those are too few for a program."""
    if columns is None:
        return ()
    width = policy.block_of(columns.size, share.elements)
    own = Block(columns, width, _has_narrow_masks(columns, width))
    rows = others[-1] if others else None
    if rows is None or width == share.elements:
        return (own,)
    # A row that is looked up stays out of the block, or its loads become gathers; they
    # are anyway where columns are looked up, too.
    # Updates are, too.
    adds = any(store.accumulates for store in subject.formula.stores)
    is_looked_up = is_gathered(subject, rows) and not is_gathered(subject, columns)
    if width >= policy.THREADS and is_looked_up and not adds:
        return (own,)
    height = policy.block_of(rows.size, share.elements // width)
    return (Block(rows, height), own)
