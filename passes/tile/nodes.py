"""The kernel as a graph of scalar formulas over coordinates of the iteration domain.

Every tensor value of an unscheduled kernel, read at some coordinates, is a node:
a load at an index expression, an elementwise formula, a reduction over the reduced
coordinates. Views have disappeared into the index expressions. Equal nodes are one
object, so a node is computed once per point however often it is used.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, Op, full_name
from girih.dialects.graph.folds import Fold
from girih.passes.tile.elements import Element
from girih.passes.tile.folds import KERNEL_FOLDS
from girih.passes.tile.index import (
    Affine,
    Coordinate,
    constant,
    coordinates_of,
    dynamic_nodes,
)
from girih.passes.tile.sizes import Size


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition ``low <= expression < high``; a guarded access runs only there."""

    expression: Affine
    low: Size
    high: Size


Guards = tuple[Guard, ...]


@dataclass(eq=False, slots=True)
class Node:
    """One value per point of the coordinates on which it depends.

    Attributes:
        element: the element type in the sense of torch, not the computing type.
        operands: the nodes that this one is computed from.
        number: the position in the table; operands have smaller numbers.
        coordinates: every coordinate on which the value depends.
        level: how many rounds of reductions come before this value.
        location: the user's line that asked for it.
    """

    element: Element
    operands: tuple["Node", ...] = ()
    number: int = field(default=-1, init=False)
    coordinates: frozenset[Coordinate] = field(default=frozenset(), init=False)
    level: int = field(default=0, init=False)
    location: object = field(default=None, init=False)

    def key(self) -> tuple:
        """What makes two nodes the same value."""
        raise NotImplementedError

    def indices(self) -> tuple[Affine, ...]:
        """The index expressions that the node itself holds."""
        return ()

    def with_indices(self, rewrite: Callable[[Affine], Affine]) -> "Node":
        """A copy of the node over rewritten index expressions."""
        raise NotImplementedError


@dataclass(eq=False, slots=True)
class ConstantNode(Node):
    """The same number everywhere."""

    value: bool | int | float = 0

    def key(self) -> tuple:
        """What makes two of them the same value."""
        # repr tells -0.0 from 0.0 and finds nan equal to itself.
        return ("constant", self.element, repr(self.value))

    def with_indices(self, rewrite) -> "ConstantNode":
        """A copy over rewritten index expressions."""
        return ConstantNode(self.element, value=self.value)


@dataclass(eq=False, slots=True)
class IndexNode(Node):
    """The value of an index expression: iota, a symbolic size."""

    expression: Affine = None

    def key(self) -> tuple:
        """What makes two of them the same value."""
        return ("index", self.element, self.expression)

    def indices(self) -> tuple[Affine, ...]:
        """The index expressions that it holds."""
        return (self.expression,)

    def with_indices(self, rewrite) -> "IndexNode":
        """A copy over rewritten index expressions."""
        return IndexNode(self.element, expression=rewrite(self.expression))


@dataclass(eq=False, slots=True)
class LoadNode(Node):
    """The element of a buffer at an offset; zero where a guard fails."""

    buffer: int = 0
    offset: Affine = None
    guards: Guards = ()

    def key(self) -> tuple:
        """What makes two of them the same value."""
        return ("load", self.buffer, self.offset, self.guards)

    def indices(self) -> tuple[Affine, ...]:
        """The index expressions that it holds."""
        return (self.offset, *(guard.expression for guard in self.guards))

    def with_indices(self, rewrite) -> "LoadNode":
        """A copy over rewritten index expressions."""
        return LoadNode(
            self.element,
            buffer=self.buffer,
            offset=rewrite(self.offset),
            guards=rewrite_guards(self.guards, rewrite),
        )


class OpNode(Node):
    """A node that computes what an op does, named as in rules."""

    __slots__ = ()
    name: str

    @property
    def op(self) -> type[Op] | None:
        """The class of the op; None for what only kernels have."""
        return OPS.get(full_name(self.name))


@dataclass(eq=False, slots=True)
class ComputeNode(OpNode):
    """An elementwise primitive applied to its operands."""

    name: str = ""
    attributes: tuple[tuple[str, ir.Attribute], ...] = ()

    def key(self) -> tuple:
        """What makes two of them the same value."""
        numbers = (operand.number for operand in self.operands)
        return (self.name, self.element, self.attributes, *numbers)

    def attribute(self, name: str) -> Any:
        """The value of an attribute of the op, for emission rules.

        Raises:
            KeyError: The op has no such attribute.
        """
        field = self.op.ATTRIBUTES[name]
        given = dict(self.attributes).get(name)
        return field.default if given is None else field.kind.decode(given)

    def with_indices(self, rewrite) -> "ComputeNode":
        """A copy over rewritten index expressions."""
        operands, attributes = self.operands, self.attributes
        return ComputeNode(
            self.element, operands, name=self.name, attributes=attributes
        )


@dataclass(eq=False, slots=True)
class SelectNode(Node):
    """The first operand where all guards hold, else the second (pad, concat)."""

    guards: Guards = ()

    def key(self) -> tuple:
        """What makes two of them the same value."""
        return ("select", self.guards, *(o.number for o in self.operands))

    def indices(self) -> tuple[Affine, ...]:
        """The index expressions that it holds."""
        return tuple(guard.expression for guard in self.guards)

    def with_indices(self, rewrite) -> "SelectNode":
        """A copy over rewritten index expressions."""
        guards = rewrite_guards(self.guards, rewrite)
        return SelectNode(self.element, self.operands, guards=guards)


@dataclass(eq=False, slots=True)
class CheckedIndexNode(Node):
    """An index in ``[0, size)``: others fail; negative ones may count from the end.

    The failure is recorded (``tile.check``) only where the guards hold.
    """

    size: Size = 0
    guards: Guards = ()
    from_end: bool = False

    def key(self) -> tuple:
        """What makes two of them the same value."""
        number = self.operands[0].number
        return ("checked", self.size, self.guards, self.from_end, number)

    def indices(self) -> tuple[Affine, ...]:
        """The index expressions that it holds."""
        return tuple(guard.expression for guard in self.guards)

    def with_indices(self, rewrite) -> "CheckedIndexNode":
        """A copy over rewritten index expressions."""
        return CheckedIndexNode(
            self.element,
            self.operands,
            size=self.size,
            guards=rewrite_guards(self.guards, rewrite),
            from_end=self.from_end,
        )


@dataclass(eq=False, slots=True)
class ReduceNode(OpNode):
    """A reduction of the operand over all reduced coordinates, or all closing ones.

    ``position`` is the coordinate along the reduced dim, for argmax and argmin. What
    ``is_rough`` may be off by a few units in the last place of its largest term.
    """

    name: str = ""
    position: Affine = None
    is_closing: bool = False
    is_rough: bool = False

    @property
    def fold(self) -> Fold:
        """How elements are combined."""
        return KERNEL_FOLDS[self.name] if self.op is None else self.op.FOLD

    def key(self) -> tuple:
        """What makes two of them the same value."""
        return (self.name, self.operands[0].number, self.is_closing)

    def indices(self) -> tuple[Affine, ...]:
        """The index expressions that it holds."""
        return () if self.position is None else (self.position,)

    def with_indices(self, rewrite) -> "ReduceNode":
        """A copy over rewritten index expressions."""
        position = None if self.position is None else rewrite(self.position)
        return ReduceNode(
            self.element,
            self.operands,
            name=self.name,
            position=position,
            is_closing=self.is_closing,
            is_rough=self.is_rough,
        )


@dataclass(eq=False, slots=True)
class ScanNode(OpNode):
    """A scan of the operand along the reduced coordinates, the last one fastest.

    Unlike a reduction it has a value at each point, from all elements up to there.
    """

    name: str = ""

    def key(self) -> tuple:
        """What makes two of them the same value."""
        return ("scan", self.name, self.operands[0].number)

    def with_indices(self, rewrite) -> "ScanNode":
        """A copy over rewritten index expressions."""
        return ScanNode(self.element, self.operands, name=self.name)


def rewrite_guards(guards: Guards, rewrite: Callable[[Affine], Affine]) -> Guards:
    """The guards over rewritten index expressions."""
    return tuple(replace(g, expression=rewrite(g.expression)) for g in guards)


class NodeTable:
    """Makes nodes unique and numbers them in an order in which operands come first."""

    def __init__(
        self,
        reduced: frozenset[Coordinate],
        closing: frozenset[Coordinate] = frozenset(),
    ) -> None:
        self.reduced = reduced
        self.closing = closing
        self.nodes: list[Node] = []
        self._by_key: dict[tuple, Node] = {}

    def add(self, node: Node, location: object = None) -> Node:
        """Returns the node equal to this one, numbered, with its facts computed."""
        key = node.key()
        known = self._by_key.get(key)
        if known is not None:
            return known
        node.number = len(self.nodes)
        self.nodes.append(node)
        self._by_key[key] = node
        node.location = location
        sources = list(node.operands)
        coordinates: set[Coordinate] = set()
        for index in node.indices():
            coordinates |= coordinates_of(index)
            sources += dynamic_nodes(index)
        for source in sources:
            coordinates |= source.coordinates
        node.level = max((source.level for source in sources), default=0)
        if isinstance(node, ReduceNode):
            coordinates -= self.closing if node.is_closing else self.reduced
            node.level += 1
        elif isinstance(node, ScanNode):
            coordinates |= self.reduced
        node.coordinates = frozenset(coordinates)
        return node


def sources_of(node: Node) -> list[Node]:
    """Everything that must be computed before the node: operands and read indices."""
    found = list(node.operands)
    for index in node.indices():
        found += dynamic_nodes(index)
    return found


def index_of(node: Node) -> Affine | None:
    """The value of an integer as an index expression: sums of indices times numbers."""
    match node:
        case IndexNode():
            return node.expression
        case ConstantNode():
            return constant(int(node.value))
        case ComputeNode(name="add" | "sub" | "mul"):
            first, second = (index_of(operand) for operand in node.operands)
            if first is None or second is None:
                return None
            if node.name != "mul":
                return first + second if node.name == "add" else first - second
            if second.is_const:
                return first * second.const
            return second * first.const if first.is_const else None
    return None
