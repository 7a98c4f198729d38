"""Computed indices that are in range because the program clamps them.

``pieces`` proves more of an index that is linear stretch by stretch. Here nothing is
known of what is clamped, which may be computed in floating point::

    min(max(int(i * 0.4), 0), size - 1)
"""

from girih.passes.tile.elements import I64
from girih.passes.tile.index import constant, is_non_negative
from girih.passes.tile.nodes import ComputeNode, ConstantNode, IndexNode, Node
from girih.passes.tile.sizes import Size, is_at_least

_LARGE = 1 << 30


def is_clamped_within(node: Node, size: Size) -> bool:
    """True where an index is proved to lie in ``[0, size)`` by how it is clamped."""
    if node.element != I64:
        return False
    return _is_natural(node) and _is_at_most(node, size - 1)


def _is_natural(node: Node) -> bool:
    match node:
        case ConstantNode():
            return is_at_least(node.value, 0)
        case IndexNode():
            return is_non_negative(node.expression)
        case ComputeNode(name="maximum"):
            return any(map(_is_natural, node.operands))
        case ComputeNode(name="minimum"):
            return all(map(_is_natural, node.operands))
        case ComputeNode(name="add"):
            # Where none is large, the sum does not wrap around in 64 bits.
            return all(_is_natural(o) and _is_small(o) for o in node.operands)
    return False


def _is_small(node: Node) -> bool:
    match node:
        case ConstantNode():
            return node.value < _LARGE
        case IndexNode():
            # Symbolic numbers are sizes of tensors, of which there are no large ones.
            expression = node.expression
            factors = (expression.const, *(factor for _, factor in expression.terms))
            return all(not isinstance(n, int) or abs(n) < _LARGE for n in factors)
        case ComputeNode(name="minimum"):
            return any(map(_is_small, node.operands))
        case ComputeNode(name="maximum"):
            return all(map(_is_small, node.operands))
    return False


def _is_at_most(node: Node, limit: Size) -> bool:
    def below(operand: Node) -> bool:
        return _is_at_most(operand, limit)

    match node:
        case ConstantNode():
            return is_at_least(limit, node.value)
        case IndexNode():
            return is_non_negative(constant(limit) - node.expression)
        case ComputeNode(name="minimum"):
            return any(map(below, node.operands))
        case ComputeNode(name="maximum"):
            return all(map(below, node.operands))
    return False
