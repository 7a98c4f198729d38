"""Which operand of a product is fetched before its columns are due.

The first block of rows that a panel of columns meets reads it from memory, and waits
for it: what lies beyond the second-level cache comes slower than it is multiplied. So
while one panel is multiplied the next one is fetched, a few lines at each step along
the depth. Of 49 rows by 512 by 2048 f32 that lie in main memory that is 94 instead of
83 GFLOP/s, with 110 from caches (one thread of an AMD EPYC with AVX-512, 2026-11-28).
"""

from dataclasses import dataclass

from girih.passes.tile.contraction import Contraction
from girih.passes.tile.index import Affine, Coordinate, affine
from girih.passes.tile.nodes import LoadNode, Node, sources_of
from girih.passes.tile.sizes import is_constant, product

LINE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Ahead:
    """An operand that is fetched a panel ahead.

    Attributes:
        load: the operand.
        outer: the coordinate along which panels lie; None where they are parts of the
            columns' own coordinate.
        step: the number of this step along the depth; None where an operand lies along
            its columns, so that each step has its own row of memory.
        lines: cache lines of a panel for each step.
        blocks: blocks of rows that fetch them, one after the other.
    """

    load: LoadNode
    outer: Coordinate | None
    step: Affine | None
    lines: int
    blocks: int

    @property
    def at_once(self) -> int:
        """Lines that a block fetches at each step."""
        return -(-self.lines // self.blocks)


def ahead_of(
    found: Contraction, lanes: Coordinate, panel: int, blocks: int, l2_bytes: int
) -> Ahead | None:
    """What is worth being fetched ahead; None where nothing is.

    Args:
        found: the products.
        lanes: the coordinate of the columns.
        panel: columns of a panel.
        blocks: blocks of rows of a program.
        l2_bytes: the size of the second-level cache.
    """
    first, *others = (each.b for each in found.products)
    load = None if others else _read(first)
    if load is None or load.guards:
        return None
    sizes = [lanes.size, *(coordinate.size for coordinate in found.depth)]
    outer = _outer(found, load, lanes) if lanes.size <= panel else None
    sizes += [] if outer is None else [outer.size]
    if not all(isinstance(size, int) for size in sizes):
        return None
    bytes_ = load.element.bytes
    is_one = lanes.size <= panel and outer is None
    if is_one or product(sizes) * bytes_ < l2_bytes // 2:
        return None
    lines = -(-panel * bytes_ // LINE_BYTES)
    if is_constant(load.offset.coefficient(lanes), 1):
        return Ahead(load, outer, None, lines, blocks)
    step = _step(load, found.depth, lanes)
    return None if step is None else Ahead(load, outer, step, lines, blocks)


def _outer(found: Contraction, load: LoadNode, lanes: Coordinate) -> Coordinate | None:
    """The coordinate of the panels, of which each has all lanes."""
    others = [
        c
        for c in found.columns
        if c != lanes and not is_constant(load.offset.coefficient(c), 0)
    ]
    return others[0] if len(others) == 1 else None


def _read(node: Node) -> LoadNode | None:
    """What an operand is read from, where it is a load or a cast of one."""
    while not isinstance(node, LoadNode):
        sources = sources_of(node)
        if len(sources) != 1:
            return None
        node = sources[0]
    return node


def _step(
    load: LoadNode, depth: tuple[Coordinate, ...], lanes: Coordinate
) -> Affine | None:
    """The number of a step along the depth, if a panel is one piece of memory."""
    terms = {c: load.offset.coefficient(c) for c in depth}
    if not all(isinstance(stride, int) for stride in terms.values()):
        return None
    step = 1
    for coordinate in sorted(depth, key=terms.__getitem__):
        if terms[coordinate] != step:
            return None
        step *= coordinate.size
    return affine(terms) if is_constant(load.offset.coefficient(lanes), step) else None
