"""Tensors made from nothing: constants, iota, symbolic sizes."""

from girih.dialects.attributes import SCALAR, SIZE
from girih.passes.tile.access.evaluator import Coordinates, Evaluator, reads
from girih.passes.tile.index import constant
from girih.passes.tile.kernel import OpRecord
from girih.passes.tile.nodes import ConstantNode, Guards, IndexNode, Node


@reads("graph.constant", "graph.full")
def read_constant(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """The same number everywhere."""
    value = SCALAR.decode(record.attributes["value"])
    return evaluator.add(ConstantNode(record.element, value=value), record)


@reads("graph.iota")
def read_iota(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """``start + step * i``."""
    start = SIZE.decode(record.attributes["start"])
    step = SIZE.decode(record.attributes["step"])
    expression = at[0] * step + start
    return evaluator.add(IndexNode(record.element, expression=expression), record)


@reads("graph.size")
def read_size(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """The value of a dim expression."""
    expression = constant(SIZE.decode(record.attributes["expr"]))
    return evaluator.add(IndexNode(record.element, expression=expression), record)
