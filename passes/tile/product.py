"""The schedule of a product of matrices on a CPU.

A program computes a part of the rows and columns. It goes through its columns in
panels of a few vectors, and through its rows in blocks. The sums of a block by a panel
stay in registers while a loop goes along the depth: each step loads the panel's vectors
once, and multiplies them by one element of each row.
"""

from dataclasses import dataclass, replace
from math import gcd

from girih.passes.tile.ahead import Ahead, ahead_of
from girih.passes.tile.choose import split_passes
from girih.passes.tile.contraction import Contraction, Product, contraction_of
from girih.passes.tile.elements import F64
from girih.passes.tile.index import Affine, Coordinate, affine
from girih.passes.tile.nodes import LoadNode, Node, sources_of
from girih.passes.tile.plan import Axis, Grid, Local, SchedulePlan
from girih.passes.tile.sizes import Size, is_constant, known, product
from girih.passes.tile.subject import Subject

# Registers of a processor with vectors of 512 bits, and of others.
_REGISTERS = {512: 32}
_FEWER_REGISTERS = 16
# Processors with such vectors have registers for masks, and masked loads cost nothing.
_MASKING_BITS = 512
# Sums that are under way at a time, at least: an addition takes 4 or 5 cycles, and
# there are one or two units.
_SUMS_IN_FLIGHT = 8
_MOST_VECTORS = 6
_MOST_ROWS = 14
# Multiplications of a program: some 5 microseconds of one core.
_GRAIN = 1 << 19
# Rows that a program has if it has a part of the columns: each panel of the columns is
# loaded once for them.
_MANY_ROWS = 256
# Multiplications that take as long as one element of other kernels.
_PER_ELEMENT = 8
# Operations that follow the sums of a block, as often as they stand there.
_MOST_AFTER = 100
# Rows of a block whose elements fall into one set of the first-level cache: so many it
# holds, with what else is read, and with more than these it holds none. Of 1024 f32
# each, 196 rows by 256 columns were 65 GFLOP/s in blocks of 14 rows, 101 in blocks of 9
# and 111 in blocks of 6 (one thread of an AMD EPYC with AVX-512, 2026-11-28).
_WAYS = 8
_MOST_WAYS = 12
_CROWDED, _THRASHING = 1.1, 1.8
# Bytes of a way: addresses that lie so far apart fall into one set.
_WAY_BYTES = 4096
_LINE_BYTES = 64
# What it costs, in cycles, that blocks or panels have a rest with code of its own.
_REST = 1.04
# Stands for a symbolic size.
_GUESSED_SIZE = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductGrid(Grid):
    """A grid whose programs compute blocks of products.

    Attributes:
        products: what is summed up.
        rows: the coordinate of the blocks' rows.
        block: rows of a block.
        vectors: vectors of a panel, along ``lanes``; each has ``width`` lanes.
        is_masked: all panels have masks, and the last one no code of its own.
        panels: for each product the copy of a panel; None where it is read as it lies.
        sums: the private buffer for the sums of a block, from which a loop over rows
            goes on; None where what follows stands behind the sums at once.
        is_by_lanes: rows' factors vary along the lanes, too.
        repeats: coordinates that a program walks along with each panel.
        ahead: what is fetched before its columns are due; None where nothing is.
        beside: what is read with the sums of a block, and fetched before they are.
    """

    products: tuple[Product, ...]
    rows: Coordinate
    block: int
    vectors: int
    is_masked: bool
    panels: tuple["Panel | None", ...]
    sums: Local | None
    is_by_lanes: bool = False
    repeats: tuple[Coordinate, ...] = ()
    ahead: Ahead | None = None
    beside: tuple[LoadNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """A private copy of some columns.

    Attributes:
        local: the buffer.
        place: where the row of this step along the depth begins in it.
        along: the coordinate of the depth along which the operand is contiguous, so
            that squares of it are turned in registers; None where vectors are copied.
    """

    local: Local
    place: Affine
    along: Coordinate | None


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes of a product.

    Attributes:
        rows, columns, depth: those of the matrices; symbolic ones are guessed.
        count: products of these sizes that share a loop.
        width: lanes of a vector.
        registers: of the processor.
        is_masked: whether the columns are no multiple of vectors, and masks are cheap.
        most_vectors: of a panel, such that the copies of panels fit half of the
            second-level cache, and a thread's stack.
        sets: sets of the first-level cache into which neighbouring rows fall in turn.
        given: vectors of a panel as an operand lies in memory; 0 where it lies in none.
    """

    rows: int
    columns: int
    depth: int
    count: int
    width: int
    registers: int
    is_masked: bool
    most_vectors: int
    sets: int = _WAY_BYTES // _LINE_BYTES
    given: int = 0

    @property
    def vectors(self) -> int:
        """Vectors in a row of results."""
        return -(-self.columns // self.width)


def choose_product(subject: Subject) -> SchedulePlan | None:
    """The schedule of a kernel that is a product; None where it is none."""
    found = contraction_of(subject)
    if found is None or not found.rows or not found.columns:
        return None
    lanes = _lanes(subject, found)
    if not isinstance(lanes.size, int):
        return None
    rows = max(reversed(found.rows), key=_known)
    sizes = _sizes(subject, found, rows, lanes)
    if not subject.takes("sums in registers, as of a product"):
        return None
    block, vectors = tile = _tile(subject, sizes)
    panels = _panels(subject, found, (rows, lanes), sizes, tile)
    grid = _grid(subject, found, (rows, lanes), sizes, tile, panels)
    ahead, beside = _ahead(subject, found, grid), _beside(subject, found, grid)
    grid = replace(grid, ahead=ahead, beside=beside)
    if _has_much_after(subject, found, block * vectors):
        grid = replace(grid, sums=_room_for_sums(grid, subject.buffers))
    outside = product(c.size for c in _outside(found, rows, lanes))
    depth = product(c.size for c in found.depth)
    reason = (
        f"{len(found.products)} of {rows.size} by {lanes.size}, sums of {depth}, "
        f"{outside} times; blocks of {block} rows by {vectors} vectors of {sizes.width}"
    )
    copied = [panel for panel in panels if panel is not None]
    if copied:
        turned = sum(panel.along is not None for panel in copied)
        reason += f", {len(copied)} panels copied, {turned} of them turned"
    reason += "" if grid.ahead is None else ", columns fetched ahead"
    locals_ = [panel.local for panel in copied]
    locals_ += [] if grid.sums is None else [grid.sums]
    return SchedulePlan("product", reason, (grid,), tuple(locals_))


def _ahead(subject: Subject, found: Contraction, grid: ProductGrid) -> Ahead | None:
    rows = next((a.chunk for a in grid.axes if a.coordinate == grid.rows), None)
    blocks = -(-(rows or _known(grid.rows)) // grid.block)
    panel = grid.vectors * grid.width
    ahead = ahead_of(found, grid.lanes, panel, blocks, subject.options.l2_bytes)
    is_taken = ahead is not None and subject.takes("columns that are fetched ahead")
    return ahead if is_taken else None


def _beside(
    subject: Subject, found: Contraction, grid: ProductGrid
) -> tuple[LoadNode, ...]:
    """What is read for each sum, of rows of its own."""

    def is_one(node: Node) -> bool:
        return (
            isinstance(node, LoadNode)
            and not node.guards
            and is_constant(node.offset.coefficient(grid.lanes), 1)
            and not is_constant(node.offset.coefficient(grid.rows), 0)
        )

    return tuple(node for node in _after(subject, found) if is_one(node))


def _after(subject: Subject, found: Contraction) -> list[Node]:
    before = {node.number for each in found.products for node in reach(each.sum)}
    return [node for node in subject.nodes if node.number not in before]


def _has_much_after(subject: Subject, found: Contraction, sums: int) -> bool:
    """Whether what follows the sums is too much code for each vector of a block."""
    return len(_after(subject, found)) * sums > _MOST_AFTER


def _room_for_sums(grid: ProductGrid, buffers: int) -> Local:
    elements = grid.block * grid.vectors * grid.width * len(grid.products)
    element = grid.products[0].sum.element.computing
    return Local(buffers + len(grid.products), element, elements, is_shared=False)


def reach(node: Node) -> list[Node]:
    """A node and all that it is computed of."""
    found, pending = {}, [node]
    while pending:
        node = pending.pop()
        if node.number not in found:
            found[node.number] = node
            pending += sources_of(node)
    return list(found.values())


def _known(coordinate: Coordinate) -> int:
    return known(coordinate.size, _GUESSED_SIZE)


def _lanes(subject: Subject, found: Contraction) -> Coordinate:
    """The columns' coordinate along which results lie, otherwise the longest."""
    for store in subject.formula.stores:
        for coordinate in found.columns:
            if is_constant(store.offset.coefficient(coordinate), 1):
                return coordinate
    return max(reversed(found.columns), key=_known)


def _outside(
    found: Contraction, rows: Coordinate, lanes: Coordinate
) -> list[Coordinate]:
    every = found.batch + found.rows + found.columns
    return [c for c in every if c not in (rows, lanes)]


def _sizes(
    subject: Subject, found: Contraction, rows: Coordinate, lanes: Coordinate
) -> _Sizes:
    options = subject.options
    bits = 64 if found.products[0].sum.element == F64 else 32
    width = options.vector_bits // bits
    depth = product(map(_known, found.depth))
    count = len(found.products)
    fitting = options.l2_bytes // 2 // (depth * count * options.vector_bits // 8)
    return _Sizes(
        rows=_known(rows),
        columns=lanes.size,
        depth=depth,
        count=count,
        width=width,
        registers=_REGISTERS.get(options.vector_bits, _FEWER_REGISTERS),
        is_masked=options.vector_bits >= _MASKING_BITS and lanes.size % width != 0,
        most_vectors=min(max(fitting, 1), _MOST_VECTORS),
        sets=_sets(found, rows, bits // 8),
        given=_given(found, lanes, width),
    )


def _given(found: Contraction, lanes: Coordinate, width: int) -> int:
    """Vectors of the panels in which an operand lies."""
    first, *others = (each.b for each in found.products)
    if others or _is_far(first, lanes) or lanes.size % width:
        return 0
    vectors = lanes.size // width
    is_few = vectors <= _MOST_VECTORS and _is_panel(first, found, lanes.size)
    return vectors if is_few else 0


def _sets(found: Contraction, rows: Coordinate, element_bytes: int) -> int:
    """Into how many sets of the cache the elements of a column of rows fall."""
    most = _WAY_BYTES // _LINE_BYTES
    loads = [each.a for each in found.products if isinstance(each.a, LoadNode)]
    strides = [load.offset.coefficient(rows) for load in loads]
    known_ = [abs(stride) for stride in strides if isinstance(stride, int) and stride]
    shared = [gcd(stride * element_bytes, _WAY_BYTES) for stride in known_]
    return min((_WAY_BYTES // max(each, _LINE_BYTES) for each in shared), default=most)


def _tile(subject: Subject, sizes: _Sizes) -> tuple[int, int]:
    usual = tiles(sizes)
    if subject.choices.are_usual:
        return usual
    legal = [(block, vectors) for block in (1, 2, 5, 8) for vectors in (1, 2, 3)]
    return subject.pick("rows by vectors", usual, [usual, *legal], (1, 1))


def tiles(sizes: _Sizes) -> tuple[int, int]:
    """Rows of a block and vectors of a panel: those with the fewest cycles."""
    best, least = (1, 1), float("inf")
    few = range(1, min(sizes.most_vectors, sizes.vectors) + 1)
    for vectors in (sizes.given,) if sizes.given in few else few:
        free = sizes.registers - 1 - vectors * sizes.count
        most = min(free // (vectors * sizes.count), _MOST_ROWS, sizes.rows)
        for block in range(max(most, 1), max(most // 2, 0), -1):
            cycles = _cycles(sizes, block, vectors)
            if cycles < least:
                best, least = (block, vectors), cycles
    return best


def _cycles(sizes: _Sizes, block: int, vectors: int) -> float:
    """Cycles for one step along the depth of all blocks by all panels."""
    whole, rest = divmod(sizes.rows, block)
    panels, left = divmod(sizes.vectors, vectors)
    if sizes.is_masked:
        panels, left = panels + (left > 0), 0
    blocks = [(block, whole)] + [(rest, 1)] * (rest > 0)
    sides = [(vectors, panels)] + [(left, 1)] * (left > 0)
    cycles = sum(
        _step(rows * sizes.count, width, rows)
        * times
        * repeated
        * _crowding(sizes, rows)
        for rows, times in blocks
        for width, repeated in sides
    )
    return cycles * _REST ** ((rest > 0) + (left > 0))


def _crowding(sizes: _Sizes, rows: int) -> float:
    """How much longer a step takes, as rows are dropped from the cache too early."""
    ways = -(-rows // sizes.sets)
    if ways <= _WAYS or sizes.depth < _LINE_BYTES:
        return 1
    return _CROWDED if ways <= _MOST_WAYS else _THRASHING


def _step(sums: int, vectors: int, rows: int) -> float:
    """Cycles of one step: multiplications, loads, or what waits for an addition."""
    return max(sums * vectors, (rows + vectors) * 0.75, _SUMS_IN_FLIGHT * 0.5)


def _panels(
    subject: Subject,
    found: Contraction,
    along: tuple[Coordinate, Coordinate],
    sizes: _Sizes,
    tile: tuple[int, int],
) -> tuple[Panel | None, ...]:
    """The copies of panels that a program makes."""
    block, vectors = tile
    own, _ = _parts(sizes, block, vectors, subject.options.l2_bytes)
    row = vectors * sizes.width
    panels: list[Panel | None] = []
    for each in found.products:
        panel = None
        depths = [c for c in found.depth if not isinstance(c.size, int)]
        taken = sizes.depth * row * sizes.count * 4
        if not depths and taken <= subject.options.l2_bytes // 2:
            turned = _turned(each.b, found, along[1])
            place, elements = place_in_panel(found.depth, row, turned, sizes.width)
            number = subject.buffers + len(panels)
            local = Local(number, each.sum.element.computing, elements, is_shared=False)
            is_far = bool(turned) or _is_far(each.b, along[1])
            is_near = not is_far and _is_panel(each.b, found, row)
            is_copied = is_far or (own > 2 * block and not is_near)
            if is_copied and subject.takes("a copy of columns"):
                panel = Panel(local, place, turned)
        panels.append(panel)
    return tuple(panels)


def place_in_panel(
    depth: tuple[Coordinate, ...], row: int, turned: Coordinate | None, side: int
) -> tuple[Affine, int]:
    """Where in a panel the row of a step along the depth begins, and the panel's size.

    There is room for whole squares along the coordinate that is turned.
    """
    terms, step = {}, row
    for coordinate in reversed(depth):
        terms[coordinate] = step
        size = coordinate.size
        step *= _multiple(size, side) if coordinate == turned else size
    return affine(terms), step


def _turned(node: Node, found: Contraction, lanes: Coordinate) -> Coordinate | None:
    """The coordinate of the depth along which an operand is contiguous."""
    if not isinstance(node, LoadNode) or node.guards or lanes not in node.coordinates:
        return None
    if node.element.computing != node.element:
        return None
    for coordinate in found.depth:
        if is_constant(node.offset.coefficient(coordinate), 1):
            return coordinate
    return None


def _is_far(node: Node, lanes: Coordinate) -> bool:
    """Whether an operand is computed, or its vectors are gathered."""
    if not isinstance(node, LoadNode):
        return True
    return not is_constant(node.offset.coefficient(lanes), 1)


def _is_panel(load: LoadNode, found: Contraction, row: int) -> bool:
    """Whether the rows of a panel follow each other in memory."""
    return is_constant(load.offset.coefficient(found.depth[-1]), row)


def _grid(
    subject: Subject,
    found: Contraction,
    along: tuple[Coordinate, Coordinate],
    sizes: _Sizes,
    tile: tuple[int, int],
    panels: tuple[Panel | None, ...],
) -> ProductGrid:
    rows, lanes = along
    block, vectors = tile
    formula = subject.formula
    passes, final = split_passes(formula, subject.reductions, formula.reduced)
    own, columns = _parts(sizes, block, vectors, subject.options.l2_bytes)
    axes = [Axis(c) for c in _outside(found, rows, lanes)]
    axes += [Axis(rows, own)] if own < sizes.rows or _is_symbolic(rows) else []
    axes += [Axis(lanes, columns)] if columns < sizes.columns else []
    return ProductGrid(
        axes=tuple(axes),
        loops=(),
        reduced=formula.reduced,
        lanes=lanes,
        width=sizes.width,
        passes=passes,
        stores=final,
        in_registers=False,
        substitutes=(),
        work=_work(found),
        products=found.products,
        rows=rows,
        block=block,
        vectors=vectors,
        is_masked=sizes.is_masked,
        panels=panels,
        sums=None,
    )


def _is_symbolic(coordinate: Coordinate) -> bool:
    return not isinstance(coordinate.size, int)


def _parts(sizes: _Sizes, block: int, vectors: int, l2_bytes: int) -> tuple[int, int]:
    """Rows and columns of a program.

    If there are few columns, a program has all of them. Otherwise its rows stay in the
    second-level cache, and it has as many panels as make it worth while.
    """
    per_row = sizes.columns * sizes.depth * sizes.count
    rows = _multiple(max(_GRAIN // per_row, 1), block)
    if rows >= min(sizes.rows, _MANY_ROWS):
        return rows, sizes.columns
    fitting = l2_bytes // (sizes.depth * 4)
    rows = _multiple(min(max(fitting, block), _MANY_ROWS, sizes.rows), block)
    panel = vectors * sizes.width
    columns = _GRAIN // (rows * sizes.depth * sizes.count)
    return rows, _multiple(max(columns, 1), panel)


def _multiple(number: int, of: int) -> int:
    return -(-number // of) * of


def _work(found: Contraction) -> Size:
    every = found.batch + found.rows + found.columns + found.depth
    work = product(c.size for c in every) * len(found.products)
    return work // _PER_ELEMENT
