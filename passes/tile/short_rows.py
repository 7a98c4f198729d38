"""A last dim of few elements: all of them are computed at a time.

What ``fuse`` makes of two tensors that are stored alternately (``stack(..., -1)``), as
of complex numbers, selects one of two formulas by the coordinate of the last dim. A
loop over that coordinate computes both formulas each time, and stores every second
element. Where the input lies along another dim, as of an image whose channels become
the last dim, either a load or a store has lanes that are apart. Here the coordinate is
written out: each formula is computed once, and the emitter interleaves the results and
stores them as one row (``Values.store_in_turn``).

A rotary embedding of 2 x 512 x 8 x 64 floats took 430 us so, and takes 95 (one thread
of an AMD EPYC with AVX-512, 2026-11-27). For 3 x 224 x 224 floats
whose channels become the last dim it is 67 us and 16, for bytes 63 and 6 (2026-11-28).
"""

from girih.passes.tile.domain import Formula, collapse, reachable, substitute
from girih.passes.tile.elements import Element
from girih.passes.tile.index import Coordinate, constant, coordinates_of
from girih.passes.tile.interleaved import MOST_ROWS
from girih.passes.tile.nodes import (
    ComputeNode,
    ConstantNode,
    Guards,
    IndexNode,
    LoadNode,
    Node,
    NodeTable,
    SelectNode,
)
from girih.passes.tile.options import TileOptions
from girih.passes.tile.pieces import replace_guards
from girih.passes.tile.sizes import is_constant, known
from girih.passes.tile.widths import walk_cost_of

# Elements of the dim before the last: of fewer, lanes would be idle.
SHORTEST = 4
_GUESSED_SIZE = 512
# Nodes of a kernel that is written out because it is cheaper then.
MOST_NODES = 300


def with_short_rows(formula: Formula, options: TileOptions) -> Formula:
    """The kernel without a last dim of few elements, where that is better.

    It is where that dim's coordinate selects formulas, and where loads and stores cost
    less.
    """
    row = _row_of(formula)
    if row is None:
        return formula
    nodes = reachable(formula.stores)
    if any(_selects(node, row) for node in nodes):
        return _written_out(formula, row)
    if len(nodes) * row.size > MOST_NODES:
        return formula
    result = _written_out(formula, row)
    cost = walk_cost_of(result, reachable(result.stores), options) / row.size
    return result if cost < walk_cost_of(formula, nodes, options) else formula


def _row_of(formula: Formula) -> Coordinate | None:
    """The coordinate of few elements that each store has beside each other."""
    if formula.reduced or formula.closing:
        return None
    for row in formula.parallel:
        is_short = isinstance(row.size, int) and 2 <= row.size <= MOST_ROWS
        if is_short and _are_contiguous(formula, row):
            return row
    return None


def _are_contiguous(formula: Formula, row: Coordinate) -> bool:
    """Whether each store has rows after each other along another coordinate."""
    steps = [store.offset.coefficient(row) for store in formula.stores]
    if not all(is_constant(step, 1) for step in steps):
        return False
    return any(
        known(other.size, _GUESSED_SIZE) >= SHORTEST
        and all(
            is_constant(s.offset.coefficient(other), row.size) for s in formula.stores
        )
        for other in formula.parallel
    )


def _written_out(formula: Formula, row: Coordinate) -> Formula:
    table = NodeTable(frozenset())
    places = [_at(formula, row, number, table) for number in range(row.size)]
    rows = zip(*(place.stores for place in places), strict=True)
    stores = tuple(store for stores in rows for store in stores)
    return collapse(Formula(places[0].parallel, (), (), stores, table))


def _selects(node: Node, row: Coordinate) -> bool:
    """Whether a node is another one at each place of the row."""
    match node:
        case LoadNode() | SelectNode():
            guards = (guard.expression for guard in node.guards)
            return any(row in coordinates_of(expression) for expression in guards)
        case IndexNode():
            return row in coordinates_of(node.expression)
    return False


def _at(formula: Formula, row: Coordinate, number: int, table: NodeTable) -> Formula:
    """The kernel's formulas at one place of the row."""
    others = tuple(c for c in formula.parallel if c != row)
    place = {row: constant(number)}
    return substitute(formula, (others, (), ()), place, _folded, table=table)


# Selections that are known ------------------------------------------------------------


def _folded(node: Node, table: NodeTable) -> Node:
    """What a node is where guards and comparisons are known."""
    match node:
        case LoadNode() | SelectNode() if node.guards:
            return _without_guards(node, table)
        case ComputeNode(name="where"):
            cond, then, otherwise = node.operands
            if isinstance(cond, ConstantNode):
                chosen = then if cond.value else otherwise
                return chosen if chosen.element == node.element else node
        case ComputeNode(name="lt"):
            low, high = map(_number, node.operands)
            if low is not None and high is not None:
                return _constant(node.element, low < high, node, table)
    return node


def _without_guards(node: LoadNode | SelectNode, table: NodeTable) -> Node:
    left: Guards = ()
    for guard in node.guards:
        ends = (guard.expression.const, guard.low, guard.high)
        is_known = guard.expression.is_const and all(isinstance(n, int) for n in ends)
        if not is_known:
            left = (*left, guard)
        elif guard.low >= guard.high:
            left = (*left, guard)  # of nothing: what checks its indices stays
        elif not guard.low <= guard.expression.const < guard.high:
            if isinstance(node, SelectNode):
                return node.operands[1]
            return _constant(node.element, 0, node, table)
    if isinstance(node, SelectNode) and not left:
        return node.operands[0]
    return table.add(replace_guards(node, left), node.location)


def _constant(element: Element, value: int, node: Node, table: NodeTable) -> Node:
    number = float(value) if element.is_float else value
    return table.add(ConstantNode(element, value=number), node.location)


def _number(node: Node) -> int | float | None:
    """The number that a node is, as far as it is known."""
    if isinstance(node, ConstantNode):
        return node.value
    is_known = isinstance(node, IndexNode) and node.expression.is_const
    is_known = is_known and isinstance(node.expression.const, int)
    return node.expression.const if is_known else None
