"""The schedule of sums over windows on a CPU: convolutions of each channel by itself.

Both factors vary along the lanes, which are the channels. A block of neighbouring
results shares the vectors of weights, and its sums stay in registers.
"""

from girih.passes.tile.choose import split_passes, spread
from girih.passes.tile.contraction import Contraction, contraction_of
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import LoadNode, Node
from girih.passes.tile.plan import Local, SchedulePlan
from girih.passes.tile.product import Panel, ProductGrid, place_in_panel, reach
from girih.passes.tile.sizes import is_constant, product
from girih.passes.tile.subject import Subject

# Vectors of results that a block has, and of channels among them.
_SUMS = 16
_MOST_VECTORS = 5
# Sums over fewer elements are as fast one by one.
_LEAST_WINDOW = 4
_LARGEST_WINDOW = 256


def choose_window_sums(subject: Subject) -> SchedulePlan | None:
    """The schedule of a kernel that sums windows times weights; None for others."""
    found = contraction_of(subject)
    if found is None or len(found.products) != 1:
        return None
    if not found.rows:
        found = found.turned()
    lanes = _lanes(subject, found)
    sizes = [c.size for c in subject.formula.parallel + found.depth]
    if lanes is None or not all(isinstance(size, int) for size in sizes):
        return None
    if not _LEAST_WINDOW <= product(c.size for c in found.depth) <= _LARGEST_WINDOW:
        return None
    if not subject.takes("sums over windows in registers"):
        return None
    rows = found.rows[-1]
    grid = _grid(subject, found, rows, lanes)
    reason = (
        f"{product(c.size for c in found.rows)} windows of "
        f"{product(c.size for c in found.depth)} elements by {lanes.size}; blocks of "
        f"{grid.block} by {grid.vectors} vectors of {grid.width}"
    )
    locals_ = tuple(panel.local for panel in grid.panels if panel is not None)
    return SchedulePlan("windows", reason, (grid,), locals_)


def _lanes(subject: Subject, found: Contraction) -> Coordinate | None:
    """The coordinate along which windows and results are contiguous."""
    if found.columns or not found.rows or len(found.batch) != 1:
        return None
    (lanes,) = found.batch
    offsets = [store.offset for store in subject.formula.stores]
    (each,) = found.products
    offsets += [node.offset for node in _loads(each.a)]
    alike = all(is_constant(o.coefficient(lanes), 1) for o in offsets)
    return lanes if alike and _loads(each.a) else None


def _loads(node: Node) -> list[LoadNode]:
    return [each for each in reach(node) if isinstance(each, LoadNode)]


def _grid(
    subject: Subject, found: Contraction, rows: Coordinate, lanes: Coordinate
) -> ProductGrid:
    formula, options = subject.formula, subject.options
    width = options.vector_bits // 32
    passes, final = split_passes(formula, subject.reductions, formula.reduced)
    outside = tuple(c for c in formula.parallel if c not in (rows, lanes))
    work = product(c.size for c in found.depth) * rows.size * lanes.size
    vectors = _vectors(-(-lanes.size // width))
    panel = _panel(subject, found, lanes, vectors * width)
    axes, loops = spread(outside, None, width, work, options)
    return ProductGrid(
        axes=axes,
        loops=loops,
        reduced=formula.reduced,
        lanes=lanes,
        width=width,
        passes=passes,
        stores=final,
        in_registers=False,
        substitutes=(),
        work=work * product(c.size for c in outside),
        products=found.products,
        rows=rows,
        block=min(_SUMS // vectors, rows.size),
        vectors=vectors,
        is_masked=lanes.size % width != 0,
        panels=(panel,),
        sums=None,
        is_by_lanes=True,
    )


def _vectors(length: int) -> int:
    """Vectors of a block's row: those that leave the fewest lanes idle."""
    most = min(_MOST_VECTORS, length)
    return min(range(most, 0, -1), key=lambda count: -(-length // count) * count)


def _panel(
    subject: Subject, found: Contraction, lanes: Coordinate, row: int
) -> Panel | None:
    """A copy of the weights, if those of neighbouring channels lie apart."""
    (each,) = found.products
    if all(is_constant(n.offset.coefficient(lanes), 1) for n in _loads(each.b)):
        return None
    place, elements = place_in_panel(found.depth, row, None, 1)
    element = each.sum.element.computing
    return Panel(
        Local(subject.buffers, element, elements, is_shared=False), place, None
    )
