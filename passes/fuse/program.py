"""The program that ``fuse`` looks at: ops as records, reads traced through views.

Everything that grouping asks is read from the IR once (see ``reader.py``); afterwards
the analysis is pure Python on these records.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from girih.passes.fuse.chain import Chain
from girih.passes.fuse.shapes import Shape


class Kind(Enum):
    """What an op can be in a fusion."""

    POINTWISE = "pointwise"
    REDUCTION = "reduction"
    SCAN = "scan"
    SCATTER = "scatter"  # adds its operand's elements to a tensor in memory
    FREE = "free"  # creation ops and cheap casts: every reader computes them itself
    VIEW = "view"
    BARRIER = "barrier"  # library ops, calls, the terminator


class Need(Enum):
    """How an op needs an operand."""

    READ = "read"
    INDEX = "index"  # the index of take or gather
    WHOLE = "whole"  # as a tensor in memory


@dataclass(frozen=True, slots=True)
class Read:
    """One operand of an op, traced through views to the value that has the data.

    Attributes:
        value: the id of that value.
        chain: from the value's shape to the shape at which the op works: the views,
            then the broadcast, pad, take or gather that the op itself implies.
        need: how the op needs it.
    """

    value: int
    chain: Chain
    need: Need


@dataclass(slots=True)
class Value:
    """A tensor value: an argument, or the result of an op.

    Attributes:
        shape: its shape.
        bytes_per_element: its element's size.
        node: the position of the op that makes it, None for arguments.
        uses: positions of the ops that read it, through views or not.
    """

    shape: Shape
    bytes_per_element: int
    node: int | None
    uses: list[tuple[int, Read]] = field(default_factory=list)


@dataclass(slots=True)
class Node:
    """An op of the function.

    Attributes:
        position: its place in the block.
        name: the op's name without the dialect.
        kind: what it can be in a fusion.
        shape: the shape it works at: its result's; for a reduction its operand's, for a
            scatter that of what is added.
        reads: its operands, for barriers those of its region too.
        results: ids of its results.
        dims: the reduced dims of a reduction, the dim of a scan.
        is_expensive: whether computing it twice costs more than reading it.
        successors: positions of ops that have to come later.
    """

    position: int
    name: str
    kind: Kind
    shape: Shape
    reads: tuple[Read, ...]
    results: tuple[int, ...]
    dims: tuple[int, ...] = ()
    is_expensive: bool = False
    successors: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Program:
    """The body of a function as records; values are indices into ``values``.

    Attributes:
        nodes: its ops.
        values: its values.
        label: what an op is called in the name of a decision, by its position.
    """

    nodes: list[Node]
    values: list[Value]
    label: Callable[[int], str] = str

    def is_computed(self, node: Node) -> bool:
        """Returns whether ``node`` belongs into a fusion."""
        return node.kind not in (Kind.FREE, Kind.VIEW, Kind.BARRIER)

    def producer(self, value: int) -> Node | None:
        """Returns the op that makes ``value``, None for arguments."""
        position = self.values[value].node
        return None if position is None else self.nodes[position]
