"""Rewrites rounds of reductions that can share one walk over a row.

- ``sum(exp(x - max(x)))``, the denominator of a softmax, needs the maximum first. With
  a running maximum it does not: what has been summed is scaled where the maximum grows.
- ``sum((x - mean(x))**2)``, the numerator of a variance, needs the mean first. Sums of
  ``x - k`` and ``(x - k)**2`` about any ``k`` near the mean give it too.

Both become reductions of their own (``tile/folds`` says how lanes compute them), so
that a row that does not fit into registers is read once less. Rows that do fit are
left as they are: there a second round costs no memory access.

Source: Milakov and Gimelshein, Online normalizer calculation for softmax (2018); Chan,
Golub and LeVeque, Algorithms for computing the sample variance (1983).
"""

from girih.dialects.graph.folds import ADD, MAX
from girih.passes.tile.domain import Formula, reachable, rebuild
from girih.passes.tile.folds import DEVIATIONS, EXPONENTIALS
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import (
    ComputeNode,
    ConstantNode,
    IndexNode,
    Node,
    NodeTable,
    ReduceNode,
    sources_of,
)
from girih.passes.tile.sizes import Size, is_constant, product


def in_one_pass(formula: Formula) -> Formula:
    """The kernel with the denominators and variances that need one walk only."""
    count = product(c.size for c in formula.reduced)
    if is_constant(count, 0):
        return formula

    def renew(node: Node, table: NodeTable) -> Node:
        found = _exponentials(node, table) or _deviations(node, table, count)
        return found or node

    merged = rebuild(formula, renew)
    _relax_below_logarithms(merged)
    return merged


def _relax_below_logarithms(formula: Formula) -> None:
    """Lets sums of exponentials of which only logarithms are taken be rough.

    A power of 2 that the device approximates, of a rounded product, is off by ``|x|``
    roundings for ``exp(x)``. Weighed by ``exp(x)``, as in a sum that is at least 1,
    that is at most ``log(n)`` roundings of it, and as many of 1 in its logarithm: what
    the logarithm of the largest such sum has.
    """
    nodes = reachable(formula.stores)
    users: dict[int, list[Node]] = {node.number: [] for node in nodes}
    for node in nodes:
        for source in sources_of(node):
            users[source.number].append(node)
    stored = {store.node.number for store in formula.stores}
    for node in nodes:
        if isinstance(node, ReduceNode) and node.name == EXPONENTIALS:
            totals = users[node.number]  # each plus 0, or plus NaN
            ends = [user for total in totals for user in users[total.number]]
            is_stored = any(n.number in stored for n in (node, *totals))
            node.is_rough = not is_stored and all(
                operands_of(end, "log") for end in ends
            )


def rounds(formula: Formula, nodes: list[ReduceNode]) -> int:
    """How many walks over the reduced coordinates a kernel needs."""
    inside: frozenset[Coordinate] = frozenset(formula.reduced)
    last = [s.node.level + 1 for s in formula.stores if s.coordinates & inside]
    return max([node.level for node in nodes] + last)


def is_float_sum(node: Node) -> bool:
    """True for a sum of floats."""
    return (
        isinstance(node, ReduceNode) and node.name == ADD.over and node.element.is_float
    )


def operands_of(node: Node, name: str) -> tuple[Node, ...]:
    """The operands of an elementwise node with this name, none for others."""
    is_call = isinstance(node, ComputeNode) and node.name == name
    return node.operands if is_call else ()


def _exponentials(node: Node, table: NodeTable) -> Node | None:
    """``sum(exp(x - max(x)))``: NaN where the maximum is infinite, as in eager."""
    exponent = exponent_of(node) if is_float_sum(node) else None
    if exponent is None:
        return None
    x, largest = exponent
    total = ReduceNode(node.element, (x,), name=EXPONENTIALS)
    nothing = ComputeNode(node.element, (largest, largest), name="sub")
    operands = tuple(table.add(n, node.location) for n in (total, nothing))
    return table.add(ComputeNode(node.element, operands, name="add"), node.location)


def exponent_of(total: Node) -> tuple[Node, Node] | None:
    """The x and max(x) of ``sum(exp(x - max(x)))``."""
    for difference in operands_of(total.operands[0], "exp"):
        if not operands_of(difference, "sub"):
            return None
        x, largest = difference.operands
        is_maximum = isinstance(largest, ReduceNode) and largest.name == MAX.over
        return (x, largest) if is_maximum and largest.operands[0] is x else None
    return None


def _deviations(node: Node, table: NodeTable, count: Size) -> Node | None:
    """``sum((x - mean(x))**2)``."""
    if not is_float_sum(node):
        return None
    factors = operands_of(node.operands[0], "mul")
    if (
        not factors
        or factors[0] is not factors[1]
        or not operands_of(factors[0], "sub")
    ):
        return None
    x, mean = operands_of(factors[0], "sub")
    if not _is_mean(mean, x, count):
        return None
    total = ReduceNode(node.element, (x,), name=DEVIATIONS)
    return table.add(total, node.location)


def _is_mean(node: Node, x: Node, count: Size) -> bool:
    """True for ``sum(x) / count``, or a product where that is a power of two."""
    quotient, scaled = operands_of(node, "div"), operands_of(node, "mul")
    if not quotient and not scaled:
        return False
    total, factor = quotient or scaled
    is_sum = is_float_sum(total) and total.operands[0] is x
    if quotient or not is_sum:
        return is_sum and _is_number(factor, count)
    return isinstance(factor, ConstantNode) and factor.value * count == 1


def _is_number(node: Node, count: Size) -> bool:
    while operands_of(node, "cast"):
        node = node.operands[0]
    if isinstance(node, ConstantNode):
        return node.value == count
    if isinstance(node, IndexNode):
        return node.expression.is_const and node.expression.const == count
    return False
