"""take and gather: one coordinate of the operand is a value read at run time.

Source: https://pytorch.org/docs/stable/generated/torch.gather.html and
https://pytorch.org/docs/stable/generated/torch.index_select.html; with ``from_end``
negative indices count from the end as in ``x[index]``.
"""

from girih.passes.tile.access.evaluator import Coordinates, Evaluator, reads
from girih.passes.tile.elements import I64
from girih.passes.tile.index import Affine, Dynamic, of
from girih.passes.tile.kernel import OpRecord
from girih.passes.tile.nodes import CheckedIndexNode, Guard, Guards, Node
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
    size = evaluator.shape(operand)[dim]
    from_end = "from_end" in record.attributes
    found = checked(evaluator, record, number, size, guards, from_end)
    source = (*at[:dim], found, *at[dim + rank :])
    return evaluator.value(operand, source, guards + _holds_something(size))


@reads("graph.gather")
def read_gather(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """``y[a..., i, b...] = x[a..., index[a..., i, b...], b...]``."""
    operand, index = record.operands
    dim = record.attributes["dim"].value
    number = evaluator.value(index, at, guards)
    size = evaluator.shape(operand)[dim]
    found = checked(evaluator, record, number, size, guards)
    source = (*at[:dim], found, *at[dim + 1 :])
    return evaluator.value(operand, source, guards + _holds_something(size))


def checked(
    evaluator: Evaluator,
    record: OpRecord,
    index: Node,
    size: Size,
    guards: Guards,
    from_end: bool = False,
) -> Affine:
    """The index as a coordinate in ``[0, size)``."""
    node = CheckedIndexNode(I64, (index,), size=size, guards=guards, from_end=from_end)
    return of(Dynamic(evaluator.add(node, record), size))


def _holds_something(size: Size) -> Guards:
    """The guard of reading along a dim that may have no elements.

    An invalid index reads element 0 until the error is raised, and here that is none.
    """
    return () if is_at_least(size, 1) else (Guard(Affine((), 0), 0, size),)
