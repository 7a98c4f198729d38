"""Tensors made from nothing: constants, iota, symbolic sizes."""

from girih.dialects.attributes import NUMBER, SCALAR, SIZE
from girih.passes.tile.access.evaluator import Coordinates, Evaluator, reads
from girih.passes.tile.index import constant
from girih.passes.tile.kernel import OpRecord
from girih.passes.tile.nodes import ComputeNode, ConstantNode, Guards, IndexNode, Node
from girih.passes.tile.sizes import Size


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
    start = _integer_if_whole(NUMBER.decode(record.attributes["start"]))
    step = _integer_if_whole(NUMBER.decode(record.attributes["step"]))
    if not isinstance(start, float) and not isinstance(step, float):
        expression = at[0] * step + start
        return evaluator.add(IndexNode(record.element, expression=expression), record)
    index = evaluator.add(IndexNode(record.element, expression=at[0]), record)
    scaled = _arithmetic(evaluator, record, "mul", index, step)
    return _arithmetic(evaluator, record, "add", scaled, start)


def _integer_if_whole(number: Size | float) -> Size | float:
    is_whole = isinstance(number, float) and number.is_integer()
    return int(number) if is_whole else number


def _arithmetic(
    evaluator: Evaluator, record: OpRecord, name: str, node: Node, number: float
) -> Node:
    constant_node = ConstantNode(record.element, value=float(number))
    operands = (node, evaluator.add(constant_node, record))
    return evaluator.add(ComputeNode(record.element, operands, name=name), record)


@reads("graph.size")
def read_size(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """The value of a dim expression."""
    expression = constant(SIZE.decode(record.attributes["expr"]))
    return evaluator.add(IndexNode(record.element, expression=expression), record)
