"""Which keys a query can see, where masks of positions say so: the rest is skipped.

A score that is -inf for certain has no part in softmax: not as its largest, not as a
power. (A mask that adds a large number instead proves nothing: of rows that are masked
altogether all weights are equal then.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from girih.passes.tile.gpu.attention.space import ScoreSpace
from girih.passes.tile.index import Affine, constant
from girih.passes.tile.nodes import ComputeNode, ConstantNode, IndexNode, Node
from girih.passes.tile.sizes import Size, is_constant


@dataclass(frozen=True, slots=True)
class Visible:
    """The keys j that query i may see: ``i + first <= j <= i + last``.

    None stands for no limit.
    """

    first: Size | None = None
    last: Size | None = None

    @property
    def grows(self) -> bool:
        """Whether later queries see more keys."""
        return self.last is not None and self.first is None

    def intersected(self, other: "Visible") -> "Visible":
        """What both allow; of two limits that can't be compared, the first."""
        return Visible(
            _tighter(self.first, other.first, max), _tighter(self.last, other.last, min)
        )


def _tighter(mine: Size | None, other: Size | None, choose: Callable) -> Size | None:
    if mine is None or other is None:
        return other if mine is None else mine
    both = isinstance(mine, int) and isinstance(other, int)
    return choose(mine, other) if both else mine


def visible_keys(logits: Node, space: ScoreSpace) -> Visible:
    """The limits that a score function sets."""
    if not isinstance(logits, ComputeNode):
        return Visible()
    operands = logits.operands
    if logits.name == "where":
        condition, then, otherwise = operands
        if _is_lowest(otherwise):
            own = _where_true(condition, space)
            return own.intersected(visible_keys(then, space))
        if _is_lowest(then):
            own = _where_false(condition, space)
            return own.intersected(visible_keys(otherwise, space))
    if logits.name == "add":
        return visible_keys(operands[0], space).intersected(
            visible_keys(operands[1], space)
        )
    if logits.name == "cast" or _is_scaled(logits):
        return visible_keys(operands[0], space)
    return Visible()


def without_mask(logits: Node, space: ScoreSpace) -> Node:
    """What logits are where the limits hold for all: less masks that say just that."""
    if not isinstance(logits, ComputeNode) or logits.name != "where":
        return logits
    condition, then, otherwise = logits.operands
    if _is_lowest(otherwise) and _is_limit(condition, True, space):
        return without_mask(then, space)
    if _is_lowest(then) and _is_limit(condition, False, space):
        return without_mask(otherwise, space)
    return logits


def _is_limit(condition: Node, value: bool, space: ScoreSpace) -> bool:
    """Whether a condition has a value just where its limits hold."""
    if not isinstance(condition, ComputeNode):
        return False
    operands = condition.operands
    match condition.name:
        case "logical_and" | "bitwise_and" if value:
            return all(_is_limit(operand, True, space) for operand in operands)
        case "logical_or" | "bitwise_or" if not value:
            return all(_is_limit(operand, False, space) for operand in operands)
        case "logical_not" | "bitwise_not":
            return _is_limit(operands[0], not value, space)
        case "le" | "lt" | "ge" | "gt":
            limits = _where_true if value else _where_false
            return limits(condition, space) != Visible()
    return False


def _is_lowest(node: Node) -> bool:
    return isinstance(node, ConstantNode) and node.value == -math.inf


def _is_scaled(node: ComputeNode) -> bool:
    if node.name not in ("mul", "div") or not isinstance(
        node.operands[1], ConstantNode
    ):
        return False
    return 0 < node.operands[1].value < math.inf


def _where_true(condition: Node, space: ScoreSpace) -> Visible:
    """What is known where a condition holds."""
    if not isinstance(condition, ComputeNode):
        return Visible()
    operands = condition.operands
    match condition.name:
        case "logical_and" | "bitwise_and":
            first, second = (_where_true(operand, space) for operand in operands)
            return first.intersected(second)
        case "logical_not" | "bitwise_not":
            return _where_false(operands[0], space)
        case "where":
            return _chosen(operands, space, True)
        case "le" | "lt":
            return _at_most(*operands, int(condition.name == "lt"), space)
        case "ge" | "gt":
            return _at_most(*operands[::-1], int(condition.name == "gt"), space)
    return Visible()


def _where_false(condition: Node, space: ScoreSpace) -> Visible:
    """What is known where a condition does not hold."""
    if not isinstance(condition, ComputeNode):
        return Visible()
    operands = condition.operands
    match condition.name:
        case "logical_or" | "bitwise_or":
            first, second = (_where_false(operand, space) for operand in operands)
            return first.intersected(second)
        case "logical_not" | "bitwise_not":
            return _where_true(operands[0], space)
        case "where":
            return _chosen(operands, space, False)
        case "le" | "lt":
            return _at_most(*operands[::-1], int(condition.name == "le"), space)
        case "ge" | "gt":
            return _at_most(*operands, int(condition.name == "ge"), space)
    return Visible()


def _chosen(operands: tuple[Node, ...], space: ScoreSpace, value: bool) -> Visible:
    """What is known where a choice between two bools gives this one."""
    condition, then, otherwise = operands
    if _is_number(otherwise, not value):
        return _where_true(condition, space)
    if _is_number(then, not value):
        return _where_false(condition, space)
    return Visible()


def _is_number(node: Node, value: bool) -> bool:
    return isinstance(node, ConstantNode) and node.value == value


def _at_most(lesser: Node, greater: Node, margin: int, space: ScoreSpace) -> Visible:
    """``lesser + margin <= greater`` as limits of keys."""
    left, right = _index_of(lesser), _index_of(greater)
    if left is None or right is None:
        return Visible()
    difference = left - right + margin
    if len(difference.terms) != 2:
        return Visible()
    of_rows = difference.coefficient(space.rows)
    of_columns = difference.coefficient(space.columns)
    if is_constant(of_columns, 1) and is_constant(of_rows, -1):
        return Visible(last=difference.const * -1)
    if is_constant(of_columns, -1) and is_constant(of_rows, 1):
        return Visible(first=difference.const)
    return Visible()


def _index_of(node: Node) -> Affine | None:
    """The index expression that a node is: numbers of positions, and sums of them."""
    if isinstance(node, IndexNode):
        return node.expression
    if isinstance(node, ConstantNode) and isinstance(node.value, int):
        return constant(node.value)
    if not isinstance(node, ComputeNode) or node.element.is_float:
        return None
    operands = [_index_of(operand) for operand in node.operands]
    if None in operands:
        return None
    match node.name:
        case "cast":
            return operands[0] if node.element.bits >= 32 else None
        case "add":
            return operands[0] + operands[1]
        case "sub":
            return operands[0] - operands[1]
    return None
