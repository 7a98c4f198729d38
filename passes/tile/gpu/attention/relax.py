"""Score functions of 16-bit attention, simplified: they are computed in f32.

Roundings to 16 bits between the ops are left out, and factors are put together: that is
closer to the formula than eager is. bfloat16 is less precise than the device's own
approximation of tanh (a relative error of 2**-11), which is used for it.
"""

import math

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import COMPARES
from girih.passes.tile.elements import BOOL, F32, element
from girih.passes.tile.emit.builder import Width
from girih.passes.tile.gpu.attention.score import GivenNode, ScoreNodes
from girih.passes.tile.gpu.values import BlockValues
from girih.passes.tile.index import bounds
from girih.passes.tile.nodes import (
    ComputeNode,
    ConstantNode,
    IndexNode,
    Node,
    NodeTable,
)

LOG2_E = math.log2(math.e)
_LARGE = 1e30
_SMALL = 2**31
I32 = element("i32")


class RelaxedValues(BlockValues):
    """Computes nodes for bfloat16, with the device's approximations."""

    def _elementwise(self, node: ComputeNode, depth: int, width: Width) -> ir.Value:
        if node.name != "tanh":
            return super()._elementwise(node, depth, width)
        value = self._widened_to(node.operands[0], width)
        b = self.indices.at(depth, width)
        return b.same("math.tanh", value, fastmath=b.parsed("#arith.fastmath<afn>"))


def relaxed(nodes: ScoreNodes) -> ScoreNodes:
    """The same function without roundings in between; logits as powers of 2."""
    return _Relaxation(nodes).nodes


class _Relaxation:
    """Makes the nodes anew, operands first."""

    def __init__(self, nodes: ScoreNodes):
        self._table = NodeTable(frozenset())
        self._renewed: dict[int, Node] = {}
        given = tuple(map(self._renew, nodes.given))
        results = tuple(map(self._renew, nodes.results))
        rows = {name: self._renew(node) for name, node in nodes.rows.items()}
        binary, unit = self._as_powers_of_two(results[0]), LOG2_E
        if binary is None:
            binary, unit = results[0], 1.0
        results = (binary, *results[1:])
        self.nodes = ScoreNodes(given, results, rows, nodes.visible, unit)

    def _renew(self, node: Node) -> Node:
        pending = [node]
        while pending:
            current = pending[-1]
            missing = [o for o in current.operands if o.number not in self._renewed]
            if current.number not in self._renewed and not missing:
                self._renewed[current.number] = self._made(current)
            if missing:
                pending += missing
            else:
                pending.pop()
        return self._renewed[node.number]

    def _made(self, node: Node) -> Node:
        copy = node.with_indices(lambda index: index)
        copy.operands = tuple(self._renewed[o.number] for o in node.operands)
        if isinstance(copy, ComputeNode):
            self._narrow(copy)
            simpler = self._simplified(copy) if copy.element.is_float else _flag(copy)
            if simpler is not None:
                return simpler
        return self._table.add(copy, node.location)

    def _narrow(self, node: ComputeNode) -> None:
        """Compares positions as i32: registers are that wide."""
        if has(node.op, COMPARES) and all(map(_is_small, node.operands)):
            copies = [operand.with_indices(lambda i: i) for operand in node.operands]
            for copy in copies:
                copy.element = I32
            node.operands = tuple(self._table.add(c, node.location) for c in copies)

    def _simplified(self, node: ComputeNode) -> Node | None:
        if node.name == "cast":
            (x,) = node.operands
            same = x.element.is_float and x.element.computing == node.element.computing
            return x if same else None
        if node.name == "div":
            factor = number_of(node.operands[1])
            usable = factor is not None and factor != 0 and math.isfinite(1 / factor)
            return self.scaled(node.operands[0], 1 / factor) if usable else None
        if node.name == "mul":
            for x, other in (node.operands, node.operands[::-1]):
                if (factor := number_of(other)) is not None:
                    return self.scaled(x, factor)
        return None

    def _as_powers_of_two(self, logits: Node) -> Node | None:
        """Logits times log2(e); None where they may be close to the largest number.

        Masks add such numbers; then rows that are all masked would differ from eager's.
        """
        number = number_of(logits)
        if number is not None:
            usable = math.isinf(number) or abs(number) < _LARGE
            return self._constant(logits, number * LOG2_E) if usable else None
        if isinstance(logits, GivenNode):
            return self.scaled(logits, LOG2_E)
        if not isinstance(logits, ComputeNode):
            return None
        if logits.name == "where":
            condition, *branches = logits.operands
            found = [self._as_powers_of_two(branch) for branch in branches]
            if None in found:
                return None
            made = ComputeNode(F32, (condition, *found), name="where")
            return self._table.add(made, logits.location)
        if logits.name == "mul" and number_of(logits.operands[1]) is not None:
            return self.scaled(logits, LOG2_E) if _is_bounded(logits) else None
        return self.scaled(logits, LOG2_E) if logits.name == "tanh" else None

    def _constant(self, model: Node, value: float) -> Node:
        return self._table.add(ConstantNode(F32, value=value), model.location)

    def scaled(self, x: Node, factor: float) -> Node:
        """x times a number, of which x may be such a product already."""
        if isinstance(x, ComputeNode) and x.name == "mul":
            known = number_of(x.operands[1])
            if known is not None and math.isfinite(known * factor):
                return self.scaled(x.operands[0], known * factor)
        number = self._constant(x, factor)
        product = ComputeNode(F32, (x, number), name="mul")
        return self._table.add(product, x.location)


def _is_small(node: Node) -> bool:
    """Whether an integer is the number of a position, or a constant, of 32 bits."""
    if isinstance(node, ConstantNode):
        return isinstance(node.value, int) and abs(node.value) < _SMALL
    limits = bounds(node.expression) if isinstance(node, IndexNode) else None
    return limits is not None and all(
        isinstance(limit, int) and abs(limit) < _SMALL for limit in limits
    )


def _flag(node: ComputeNode) -> Node | None:
    """The condition of a choice between true and false."""
    if node.name != "where" or node.element is not BOOL:
        return None
    condition, *branches = node.operands
    values = [b.value if isinstance(b, ConstantNode) else None for b in branches]
    return condition if values == [True, False] else None


def _is_bounded(product: Node) -> bool:
    """Whether a product with a number is of a score, or of a tanh."""
    x = product.operands[0]
    is_tanh = isinstance(x, ComputeNode) and x.name == "tanh"
    return is_tanh or isinstance(x, GivenNode)


def number_of(node: Node) -> float | None:
    """The number that a node is."""
    if isinstance(node, ConstantNode) and node.element.is_float:
        return float(node.value)
    return None
