"""A last dim of two elements, as of complex numbers: both are computed at a time.

What ``fuse`` makes of two tensors that are stored alternately (``stack(..., -1)``)
selects one of two formulas by the coordinate of the last dim. A loop over that
coordinate computes both formulas each time, and stores every second element. Here the
coordinate is written out: each formula is computed once, and the emitter stores the
two results as one row (``Values.store_pairs``).

A rotary embedding of 2 x 512 x 8 x 64 floats took 430 us so, and takes 95 (one thread
of an AMD EPYC with AVX-512, 2026-11-27).
"""

from girih.passes.tile.domain import Formula, Store, collapse, reachable, substitute
from girih.passes.tile.elements import Element
from girih.passes.tile.index import Coordinate, constant, coordinates_of
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
from girih.passes.tile.pieces import replace_guards
from girih.passes.tile.sizes import is_constant, known

# Elements of the dim before the pairs: of fewer, lanes would be idle.
SHORTEST = 4
_GUESSED_SIZE = 512


def with_pairs(formula: Formula) -> Formula:
    """The kernel without a coordinate of two elements that selects formulas."""
    pair = _pair_of(formula)
    if pair is None:
        return formula
    table = NodeTable(frozenset())
    halves = [_at(formula, pair, number, table) for number in range(2)]
    both = zip(*(half.stores for half in halves), strict=True)
    stores = tuple(store for stores in both for store in stores)
    return collapse(Formula(halves[0].parallel, (), (), stores, table))


def are_alternate(first: Store, second: Store, lanes: Coordinate | None) -> bool:
    """Whether the rows of two stores lie between each other, as one row of pairs."""
    is_beside = first.buffer == second.buffer and first.offset + 1 == second.offset
    return is_beside and is_constant(first.offset.coefficient(lanes), 2)


def _pair_of(formula: Formula) -> Coordinate | None:
    if formula.reduced or formula.closing:
        return None
    nodes = reachable(formula.stores)
    for pair in formula.parallel:
        if not is_constant(pair.size, 2):
            continue
        if _are_contiguous(formula, pair) and any(_selects(n, pair) for n in nodes):
            return pair
    return None


def _are_contiguous(formula: Formula, pair: Coordinate) -> bool:
    """Whether each store has the pairs beside each other along another coordinate."""
    steps = [store.offset.coefficient(pair) for store in formula.stores]
    if not all(is_constant(step, 1) for step in steps):
        return False
    return any(
        known(other.size, _GUESSED_SIZE) >= SHORTEST
        and all(is_constant(s.offset.coefficient(other), 2) for s in formula.stores)
        for other in formula.parallel
    )


def _selects(node: Node, pair: Coordinate) -> bool:
    """Whether a node is another one at each of the two places."""
    match node:
        case LoadNode() | SelectNode():
            guards = (guard.expression for guard in node.guards)
            return any(pair in coordinates_of(expression) for expression in guards)
        case IndexNode():
            return pair in coordinates_of(node.expression)
    return False


def _at(formula: Formula, pair: Coordinate, number: int, table: NodeTable) -> Formula:
    """The kernel's formulas at one of the two places."""
    others = tuple(c for c in formula.parallel if c != pair)
    place = {pair: constant(number)}
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
