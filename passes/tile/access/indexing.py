"""take and gather: one coordinate of the operand is a value read at run time.

Source: https://pytorch.org/docs/stable/generated/torch.gather.html and
https://pytorch.org/docs/stable/generated/torch.index_select.html; with ``from_end``
negative indices count from the end as in ``x[index]``.
"""

from girih.passes.tile.access.evaluator import Coordinates, Evaluator, reads
from girih.passes.tile.elements import BOOL, I64
from girih.passes.tile.index import Affine, Dynamic, constant, dynamic_nodes, of
from girih.passes.tile.kernel import OpRecord
from girih.passes.tile.nodes import (
    CheckedIndexNode,
    ComputeNode,
    ConstantNode,
    Guard,
    Guards,
    IndexNode,
    Node,
)
from girih.passes.tile.pieces import is_always_within
from girih.passes.tile.ranges import is_clamped_within
from girih.passes.tile.sizes import Size, is_at_least


@reads("graph.take")
def read_take(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """``y[a..., i..., b...] = x[a..., index[i...], b...]``."""
    operand, index = record.operands
    dim = record.attributes["dim"].value
    rank = len(evaluator.shape(index))
    number = evaluator.value(index, at[dim : dim + rank], guards)
    around = at[:dim], at[dim + rank :]
    return _read_along(evaluator, record, number, around, guards)


@reads("graph.gather")
def read_gather(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """``y[a..., i, b...] = x[a..., index[a..., i, b...], b...]``."""
    _, index = record.operands
    dim = record.attributes["dim"].value
    number = evaluator.value(index, at, guards)
    return _read_along(evaluator, record, number, (at[:dim], at[dim + 1 :]), guards)


def _read_along(
    evaluator: Evaluator,
    record: OpRecord,
    number: Node,
    around: tuple[Coordinates, Coordinates],
    guards: Guards,
) -> Node:
    """The operand's element at an index that is looked at, whether it is used or not.

    A table that was repeated along the dim has no use for the index.
    """
    operand, dim = record.operands[0], record.attributes["dim"].value
    size = evaluator.shape(operand)[dim]
    if is_always_within(number, size) or is_clamped_within(number, size):
        source = (*around[0], _as_index(number, size), *around[1])
        return evaluator.value(operand, source, guards)
    from_end = "from_end" in record.attributes
    check = CheckedIndexNode(
        I64, (number,), size=size, guards=guards, from_end=from_end
    )
    check = evaluator.add(check, record)
    source = (*around[0], of(Dynamic(check, size)), *around[1])
    found = evaluator.value(operand, source, guards + _holds_something(size))
    return found if _needs(found, check) else _behind(evaluator, record, found, check)


def _as_index(number: Node, size: Size) -> Affine:
    """The value of a node that needs no check as a coordinate."""
    if isinstance(number, IndexNode):
        return number.expression
    return of(Dynamic(number, size))


def _holds_something(size: Size) -> Guards:
    """The guard of reading along a dim that may have no elements.

    An invalid index reads element 0 until the error is raised, and here that is none.
    """
    return () if is_at_least(size, 1) else (Guard(constant(0), 0, size),)


def _needs(node: Node, check: Node) -> bool:
    """Whether computing a node computes the check."""
    pending, seen = [node], set()
    while pending:
        node = pending.pop()
        if node is check:
            return True
        # What a node needs was numbered before it.
        if node.number > check.number and node.number not in seen:
            seen.add(node.number)
            pending += node.operands
            pending += [n for index in node.indices() for n in dynamic_nodes(index)]
    return False


def _behind(evaluator: Evaluator, record: OpRecord, node: Node, check: Node) -> Node:
    """The same value, for which the check is computed as well."""
    zero = evaluator.add(ConstantNode(I64, value=0), record)
    holds = evaluator.add(ComputeNode(BOOL, (check, zero), name="ge"), record)
    both = ComputeNode(record.element, (holds, node, node), name="where")
    return evaluator.add(both, record)
