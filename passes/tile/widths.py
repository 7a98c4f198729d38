"""How many lanes a loop has: full registers, and several of them at a time.

Several vectors in flight hide the latency of what is computed from one another: of an
addition to an accumulator, of the chain of multiplications in a polynomial.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from girih.passes.tile.cost import HORIZONTAL, walk_cost
from girih.passes.tile.domain import Formula, Store
from girih.passes.tile.elements import F64
from girih.passes.tile.emit.scan import is_widened
from girih.passes.tile.index import Coordinate
from girih.passes.tile.keep import recompute_cost, roots_of
from girih.passes.tile.nodes import LoadNode, Node, ReduceNode, ScanNode
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import BLOCK_STEPS, Pass
from girih.passes.tile.sizes import Size, known, product

# Stands for a symbolic size where costs are compared.
GUESSED_SIZE = 512
# Rows of up to this many vectors stay in registers.
REGISTER_VECTORS = 8
# Vectors of neighbouring results that a column reduction has at a time: half of the
# registers there are. 1000 x 1024 softmax along the columns: 1.8 ms with one vector,
# 0.24 with 8; 4096 x 1024 sum: 0.38 ms with 4, 0.19 with 16 (2026-11-20).
COLUMN_VECTORS = 16
# Lanes of vectors along short scans, at least.
NARROWEST = 4
# The same for scans, whose accumulators are twice as wide.
SCAN_VECTORS = 4
# Scans of f32, which are accumulated in f64, go by elements up to this length: 100000
# scans of 4 take 90 us, with vectors 114; of 6, 0.56 of the time (2026-11-26).
SHORT_SCAN = 12
# Vectors at a time in loops along rows: GELU of 200 k elements takes 88 us with one,
# 76 with two, 67 with four (2026-11-20).
VECTORS_IN_FLIGHT = 4
# Bodies cheaper than this wait for memory, not for arithmetic.
EXPENSIVE_BODY = 10
# Bodies larger than this would spill with four vectors in flight.
LARGE_BODY = 60
# A side shorter than this many lanes is not worth a square that is turned.
SMALLEST_SIDE = 8
# Sides of squares that are turned; also the rows that a program turns together. A
# square of 64 takes half a second to compile, and is no faster (2026-11-20).
LARGEST_SQUARE = 16
# Lanes of bytes that are read with shuffles, and elements from one to the next.
BYTES_APART = 16
BYTE_STEPS = range(2, 9)
# Sums of so many steps are added up in blocks.
LONG_SUM = 1024


def choose_lanes(
    formula: Formula, nodes: list[Node], options: TileOptions
) -> tuple[Coordinate | None, int]:
    """The coordinate along which vectors lie, and the lanes of a full register."""
    coordinates = legal_lanes(formula, nodes)
    guess = vector_width(nodes, formula.stores, options, coordinates)
    lanes, _ = _best_lanes(formula, nodes, coordinates, guess, options)
    return lanes, vector_width(nodes, formula.stores, options, (lanes,))


def walk_cost_of(formula: Formula, nodes: list[Node], options: TileOptions) -> float:
    """Instructions for a vector of points, with lanes along the best coordinate."""
    coordinates = legal_lanes(formula, nodes)
    width = vector_width(nodes, formula.stores, options, coordinates)
    return _best_lanes(formula, nodes, coordinates, width, options)[1]


def legal_lanes(formula: Formula, nodes: list[Node]) -> tuple[Coordinate, ...]:
    """The coordinates along which vectors can lie."""
    if len(formula.reduced) > 1 and any(isinstance(n, ScanNode) for n in nodes):
        return formula.parallel
    return formula.parallel + formula.reduced


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
    elements += [F64 for n in varying if isinstance(n, ScanNode) and is_widened(n)]
    bits = max((e.bits for e in elements if e.bits > 1), default=8)
    return max(options.vector_bits // bits, 2)


def _best_lanes(
    formula: Formula,
    nodes: list[Node],
    coordinates: tuple[Coordinate, ...],
    width: int,
    options: TileOptions,
) -> tuple[Coordinate | None, float]:
    """The coordinate along which the walk costs least, and that; later ones win."""
    best, best_cost = None, float("inf")
    reductions = sum(isinstance(node, ReduceNode) for node in nodes)
    scans = sum(isinstance(node, ScanNode) for node in nodes)
    # What does not vary along a row is done once a row.
    rows = frozenset(formula.reduced)
    length = max(known(product(c.size for c in rows), GUESSED_SIZE), 1)
    weights = [(1.0, True), (1.0 / length, False)] if rows else [(1.0, False)]
    parts = [
        (
            weight,
            [node for node in nodes if bool(node.coordinates & rows) is varies],
            [s for s in formula.stores if bool(s.coordinates & rows) is varies],
        )
        for weight, varies in weights
    ]
    for coordinate in coordinates:
        size = known(coordinate.size, GUESSED_SIZE)
        vectors = -(-size // width)
        turnable = frozenset()
        if not scans:
            turnable = _turnable(formula, coordinate, bool(reductions), options)
        cost = sum(
            weight * walk_cost(own, stores, coordinate, turnable)
            for weight, own, stores in parts
        )
        if coordinate in formula.reduced:
            cost += reductions * HORIZONTAL / max(vectors, 1) + scans * HORIZONTAL
        # Short cheap scans have narrow vectors, rather than lanes that are idle.
        is_along = scans > 0 and coordinate in formula.reduced
        if not is_along or cost >= EXPENSIVE_BODY + scans * HORIZONTAL:
            cost *= vectors * width / max(size, 1)
        if cost <= best_cost:
            best, best_cost = coordinate, cost
    return best, best_cost


def _turnable(
    formula: Formula, lanes: Coordinate, reduces: bool, options: TileOptions
) -> frozenset[Coordinate]:
    """Coordinates from which squares of a load can be turned to lie along the lanes.

    A kernel that reduces turns whole rows only, and they must be short.
    """
    if reduces:
        size = known(lanes.size, options.l2_bytes)
        if lanes not in formula.reduced or not fits_turned(size, options):
            return frozenset()
    return frozenset(
        c
        for c in formula.parallel
        if c != lanes and known(c.size, GUESSED_SIZE) >= SMALLEST_SIDE
    )


def fits_turned(length: int, options: TileOptions) -> bool:
    """True where a block of rows of so many elements, of 4 bytes, stays in cache."""
    return length * LARGEST_SQUARE * 4 <= options.l2_bytes // 4


def pointwise_vectors(
    stores: tuple[Store, ...], lanes: Coordinate | None, width: int
) -> int:
    """Vectors at a time in a loop that only stores."""
    if lanes is None:
        return 1
    cost = sum(recompute_cost(store.node) for store in stores)
    if cost < EXPENSIVE_BODY:
        return 1
    return _without_waste(_in_flight(cost), width, lanes.size)


def with_bytes_apart(
    nodes: Iterable[Node], lanes: Coordinate | None, width: int
) -> int:
    """Fewer lanes where bytes that lie some elements apart are read.

    `convert_tile_to_cpu/strided.py` reads so many with shuffles, and gathers more, one
    byte after the other: channels of 3 x 224 x 224 bytes that were the last dim take
    7 us, gathered 48 (2026-11-28).
    """
    are_apart = lanes is not None and any(
        isinstance(node, LoadNode)
        and node.element.bytes == 1
        and known(node.offset.coefficient(lanes), 0) in BYTE_STEPS
        for node in nodes
    )
    return min(width, BYTES_APART) if are_apart else width


def _in_flight(cost: int) -> int:
    return VECTORS_IN_FLIGHT if cost <= LARGE_BODY else VECTORS_IN_FLIGHT // 2


def _without_waste(vectors: int, width: int, size: Size) -> int:
    """Fewer vectors where many lanes of the last step would be idle."""
    length = known(size, GUESSED_SIZE)
    while vectors > 1 and -length % (width * vectors) > length // 4:
        vectors //= 2
    return max(vectors, 1)


def without_idle_lanes(width: int, length: int) -> int:
    """Narrower vectors where many lanes of the last step would be idle."""
    while width > NARROWEST and -length % width > length // 8:
        width //= 2
    return width


def column_vectors(
    reductions: list[ReduceNode], lanes: Coordinate | None, width: int
) -> int:
    """Vectors of neighbouring results at a time: long runs of each row are read."""
    if lanes is None:
        return 1
    cost = max(recompute_cost(node.operands[0]) for node in reductions)
    limit = COLUMN_VECTORS if cost < EXPENSIVE_BODY else COLUMN_VECTORS // 2
    together = max(Counter(node.level for node in reductions).values())
    return _without_waste(limit // together, width, lanes.size)


def scan_vectors(lanes: Coordinate | None, width: int) -> int:
    """Vectors of neighbouring scans that a loop goes along at a time."""
    return 1 if lanes is None else _without_waste(SCAN_VECTORS, width, lanes.size)


def goes_by_elements(scans: list[ScanNode], length: int) -> bool:
    """True where one element after the other is faster than vectors along a scan."""
    cost = sum(recompute_cost(node) for node in scans)
    is_short = length <= SHORT_SCAN and cost < EXPENSIVE_BODY
    return is_short and any(is_widened(node) for node in scans)


def walks_with_lanes(
    passes: tuple[Pass, ...],
    width: int,
    reduced: tuple[Coordinate, ...],
    lanes: Coordinate | None,
) -> tuple[Pass, ...]:
    """Gives passes over the reduced coordinates their lanes, and long sums blocks."""
    if lanes in reduced:
        passes = tuple(_with_lanes(walk, width, lanes) for walk in passes)
    else:
        passes = tuple(replace(walk, width=width) for walk in passes)
    return tuple(_with_blocks(walk, reduced, lanes) for walk in passes)


def _with_lanes(walk: Pass, width: int, lanes: Coordinate) -> Pass:
    """A pass along rows with its lanes."""
    cost = sum(recompute_cost(node) for node in roots_of(walk))
    vectors = _in_flight(cost)
    if cost < EXPENSIVE_BODY and not walk.reductions:
        vectors = 1
    return replace(walk, width=width * _without_waste(vectors, width, lanes.size))


def _with_blocks(
    walk: Pass, reduced: tuple[Coordinate, ...], lanes: Coordinate | None
) -> Pass:
    """Adds long sums of floats in blocks, as eager does, to bound rounding errors."""
    is_sum = any(
        node.name == "reduce_sum" and node.element.is_float for node in walk.reductions
    )
    are_plain = all(node.fold.is_plain for node in walk.reductions)
    if not reduced or not is_sum or not are_plain:
        return walk

    def steps(coordinate: Coordinate) -> int:
        width = walk.width if coordinate == lanes else 1
        return known(coordinate.size, LONG_SUM * width) // width

    longest, total = max(reduced, key=steps), product(map(steps, reduced))
    if total <= BLOCK_STEPS:
        return walk
    if steps(longest) <= BLOCK_STEPS:
        # Several short loops: the innermost one starts afresh each time.
        return replace(walk, blocked=reduced[-1])
    return replace(walk, blocked=longest) if total >= LONG_SUM else walk


def fits_registers(reduced: tuple[Coordinate, ...], width: int) -> bool:
    """True for rows that a few registers hold."""
    if len(reduced) != 1 or not isinstance(reduced[0].size, int):
        return False
    return 0 < reduced[0].size <= REGISTER_VECTORS * width


def power_of_two(size: int) -> int:
    """The next power of two, at least 2."""
    # LLVM widens vectors of other lengths to the next power of two anyway.
    return max(1 << (size - 1).bit_length(), 2)
