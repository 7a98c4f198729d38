"""Evaluates tensors at coordinates: the pull model that makes views free.

``Evaluator.value(tensor, coordinates)`` answers with a node. A view asks its operand
at other coordinates, a load turns coordinates into an offset, everything else makes
a node of its operands' answers.
"""

from collections.abc import Callable

from girih.dialects.attributes import INTS
from girih.dialects.definition import OPS, has
from girih.dialects.rule_table import RuleTable
from girih.dialects.traits import FINDS_PLACE, REDUCES, SCANS
from girih.passes.tile.index import Affine, Coordinate, constant, recombined
from girih.passes.tile.kernel import KernelSource, OpRecord
from girih.passes.tile.nodes import (
    ComputeNode,
    Guards,
    LoadNode,
    Node,
    NodeTable,
    ReduceNode,
    ScanNode,
)
from girih.passes.tile.sizes import Size, is_constant

Coordinates = tuple[Affine, ...]
Rule = Callable[["Evaluator", OpRecord, Coordinates, Guards], Node]

_RULES: dict[str, Rule] = RuleTable("access rule of ", "@plugin.reads({name!r})")


def reads(*names: str) -> Callable[[Rule], Rule]:
    """Registers how the named ops find their value at some coordinates."""
    return _RULES.registering(*names)


def has_access_rule(name: str) -> bool:
    """True for ops that are evaluated by rearranging coordinates."""
    return name in _RULES


class Evaluator:
    """Turns the tensor program of one kernel into nodes over given coordinates."""

    def __init__(self, source: KernelSource, domain: Coordinates, table: NodeTable):
        self.source = source
        self.domain = domain
        self.table = table
        self._memo: dict[tuple, Node] = {}

    def value(self, tensor: object, at: Coordinates, guards: Guards = ()) -> Node:
        """The node of one tensor's element at these coordinates."""
        key = (tensor, at, guards)
        node = self._memo.get(key)
        if node is None:
            node = self._memo[key] = self._evaluate(tensor, at, guards)
        return node

    def _evaluate(self, tensor: object, at: Coordinates, guards: Guards) -> Node:
        record = self.source.records[tensor]
        if record.name == "tile.read":
            return self.add(load(self.source, record, at, guards), record)
        rule = _RULES.get(record.name)
        if rule is not None:
            return rule(self, record, at, guards)
        if has(record.name, REDUCES):
            return self._reduction(record)
        if has(record.name, SCANS):
            return self._scan(record)
        return self._elementwise(record, at, guards)

    def _elementwise(self, record: OpRecord, at: Coordinates, guards: Guards) -> Node:
        operands = tuple(
            self.value(operand, broadcast(at, self.shape(operand)), guards)
            for operand in record.operands
        )
        name, attributes = record.name.removeprefix("graph."), ()
        if record.attributes:
            fields = OPS[record.name].ATTRIBUTES
            found = record.attributes.items()
            attributes = tuple(item for item in found if item[0] in fields)
        node = ComputeNode(record.element, operands, name=name, attributes=attributes)
        return self.add(node, record)

    def _reduction(self, record: OpRecord) -> Node:
        """A reduction: its operand is always read at the domain's own coordinates."""
        operand = self.value(record.operands[0], self.domain)
        dims, position = (), None
        if has(record.name, FINDS_PLACE):
            dims = (record.attributes["dim"].value,)
            position = self.domain[dims[0]]
        elif self.source.closing:
            dims = INTS.decode(record.attributes["dims"])
        node = ReduceNode(
            record.element,
            (operand,),
            name=record.name.removeprefix("graph."),
            position=position,
            is_closing=bool(self.source.closing.intersection(dims)),
        )
        return self.add(node, record)

    def _scan(self, record: OpRecord) -> Node:
        """A scan: its operand, too, is read at the domain's own coordinates."""
        operand = self.value(record.operands[0], self.domain)
        if not self.table.reduced:
            return operand  # of one element
        name = record.name.removeprefix("graph.")
        return self.add(ScanNode(record.element, (operand,), name=name), record)

    def add(self, node: Node, record: OpRecord) -> Node:
        """Adds a node that stands for the record's op."""
        return self.table.add(node, record.location)

    def shape(self, tensor: object) -> tuple[Size, ...]:
        """The sizes of a tensor of the kernel."""
        return self.source.records[tensor].shape


def broadcast(at: Coordinates, shape: tuple[Size, ...]) -> Coordinates:
    """The coordinates in an operand of this shape, aligned to the right."""
    aligned = at[len(at) - len(shape) :]
    return tuple(
        constant(0) if is_constant(size, 1) else coordinate
        for coordinate, size in zip(aligned, shape, strict=True)
    )


def load(
    source: KernelSource, record: OpRecord, at: Coordinates, guards: Guards
) -> LoadNode:
    """The load of a buffer's element at these coordinates."""
    number = source.buffer_of(record)
    offset = offset_in(source.buffers[number].strides, at)
    return LoadNode(record.element, buffer=number, offset=offset, guards=guards)


def offset_in(strides: tuple[Size, ...], at: Coordinates) -> Affine:
    """The offset in elements of these coordinates."""
    offset = constant(0)
    for coordinate, stride in zip(at, strides, strict=True):
        offset = offset + coordinate * stride
    return recombined(offset)


def domain_coordinates(parts: dict[int, list[Coordinate]]) -> Coordinates:
    """Each domain dim as an expression of the coordinates that it was split into."""
    expressions = []
    for dim in range(len(parts)):
        expression, stride = constant(0), 1
        for part in reversed(parts[dim]):
            expression = expression + Affine(((part, stride),), 0)
            stride = stride * part.size
        expressions.append(expression)
    return tuple(expressions)
