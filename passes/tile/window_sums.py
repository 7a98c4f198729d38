"""The schedule of sums over windows on a CPU.

A block of neighbouring results shares the vectors of weights, and its sums stay in
registers. The lanes are channels: of a convolution of each channel by itself both
factors vary along them. Of one of few channels, such as the colors of a picture, the
weights alone do, and elements of the images are in all lanes.
"""

from girih.passes.tile.choose import split_passes
from girih.passes.tile.contraction import Contraction, contraction_of
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import LoadNode, Node
from girih.passes.tile.plan import Axis, Local, SchedulePlan
from girih.passes.tile.product import Panel, ProductGrid, place_in_panel, reach
from girih.passes.tile.sizes import is_constant, product
from girih.passes.tile.subject import Subject

# Sums that a block has in registers, of which there are 32 of 512 bits, else 16. One
# register is for the weights, and some for rows that are combined with the sums.
_SUMS, _MOST_SUMS, _FEWER_SUMS = 16, 28, 14
_LINE_BYTES = 64
# Images whose lines are longer are read by whole lines of the cache: what is left of a
# line has gone from the first-level cache when its turn comes (Zen 4, 2026-11-29).
_LONG_LINE = 64
# Sums over fewer elements are as fast one by one.
_LEAST_WINDOW = 4
_LARGEST_WINDOW = 256
# Programs of a grid, so that several threads have something to do.
_PROGRAMS = 16


def choose_window_sums(subject: Subject) -> SchedulePlan | None:
    """The schedule of a kernel that sums windows times weights; None for others."""
    found = contraction_of(subject)
    if found is None or len(found.products) != 1:
        return None
    is_of_channels = bool(found.batch)
    if not found.rows or (not is_of_channels and len(found.columns) != 1):
        found = found.turned()
    lanes = (_lanes if is_of_channels else _lanes_of_few)(subject, found)
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


def _lanes_of_few(subject: Subject, found: Contraction) -> Coordinate | None:
    """The coordinate of the weights along which results are contiguous."""
    if found.batch or len(found.columns) != 1 or not found.rows:
        return None
    (lanes,) = found.columns
    alike = all(
        is_constant(store.offset.coefficient(lanes), 1)
        for store in subject.formula.stores
    )
    is_window = len(found.depth) > 1 and len(found.rows) > 1
    # What is computed for each element of a window would be computed for each result.
    is_loaded = all(isinstance(each.a, LoadNode) for each in found.products)
    return lanes if alike and is_window and is_loaded else None


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
    is_long = rows.size >= _LONG_LINE
    vectors = max(_LINE_BYTES // 4 // width, 1) if is_long or width < 8 else 1
    most = _SUMS if options.vector_bits >= 512 else _FEWER_SUMS
    if found.columns:  # an element of an image is for two vectors of results
        vectors = min(2, -(-lanes.size // width))
        most = _MOST_SUMS if options.vector_bits >= 512 else _FEWER_SUMS
    panel = _panel(subject, found, lanes, vectors * width)
    axes, repeats = _spread(subject, found, outside, lanes, vectors * width, work)
    return ProductGrid(
        axes=axes,
        loops=(),
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
        block=_block(rows.size, most // vectors),
        vectors=vectors,
        is_masked=lanes.size % width != 0,
        panels=(panel,),
        sums=None,
        is_by_lanes=not found.columns,
        repeats=repeats,
    )


def _block(rows: int, most: int) -> int:
    """Rows of a block: blocks of one size, as far as that goes."""
    return -(-rows // -(-rows // most))


def _spread(
    subject: Subject,
    found: Contraction,
    outside: tuple[Coordinate, ...],
    lanes: Coordinate,
    panel: int,
    work: int,
) -> tuple[tuple[Axis, ...], tuple[Coordinate, ...]]:
    """The axes of the grid, and what a program walks along with each panel.

    The panels of a program read the same lines of images one after the other, which
    stay in the second-level cache, and their weights in the first-level one.
    """
    options = subject.options
    if not outside:
        return (), ()
    *others, walked = outside
    (each,) = found.products
    loads = _loads(each.a)
    line = max(abs(n.offset.coefficient(walked)) * n.element.bytes for n in loads)
    most = max(options.l2_bytes // 2 // max(line, 1), 1)
    least = -(-options.parallel_grain // max(work, 1))
    chunk = _block(walked.size, min(max(most, least), walked.size))
    axes = [*map(Axis, others), Axis(walked, chunk)]
    count = product(c.size for c in others) * -(-walked.size // chunk)
    panels = -(-lanes.size // panel)
    groups = min(-(-_PROGRAMS // count), panels)
    if groups > 1:
        axes.append(Axis(lanes, -(-panels // groups) * panel))
    return tuple(axes), (walked,)


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
