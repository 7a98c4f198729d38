"""The joint function that ``partition`` looks at, as records.

Everything that is asked is read from the IR once (see ``reader.py``); afterwards the
analysis is pure Python on these records. Values and ops are numbered: arguments come
first, then results in program order.
"""

from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """What having an op's results takes."""

    CREATION = "creation"  # constants and the like: every kernel makes them itself
    VIEW = "view"  # other sizes and strides of the same elements
    POINTWISE = "pointwise"
    REDUCTION = "reduction"
    LIBRARY = "library"  # runs as a call, its results lie in memory


@dataclass(slots=True)
class Value:
    """A value of the joint function.

    Attributes:
        elements: how many, symbols taken at their hints.
        width: bytes of one element.
        node: the op that makes it, None for arguments.
        base: the value whose elements it shows: itself, unless it is a view.
        users: the ops that read it.
        is_flag: whether its elements are numbers, but only 0 and 1.
    """

    elements: int
    width: int
    node: int | None
    base: int
    users: list[int] = field(default_factory=list)
    is_flag: bool = False

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        return self.elements * self.width

    @property
    def saved_bytes(self) -> int:
        """Its size as it is saved: flags are saved as ``i1``."""
        return self.elements if self.is_flag else self.bytes


@dataclass(slots=True)
class Node:
    """An op of the joint function.

    Attributes:
        name: without the dialect.
        kind: what having its results takes.
        operands, results: values.
        is_ordered: whether it has effects, such as drawing random numbers.
        is_native: whether kernels compute with its element types.
        region: the region of ``torch.utils.checkpoint`` that it belongs to.
        work: multiplications of a contraction.
        is_copy: whether it is a call that shows an argument's elements as others.
    """

    name: str
    kind: Kind
    operands: tuple[int, ...]
    results: tuple[int, ...]
    is_ordered: bool = False
    is_native: bool = True
    region: int | None = None
    work: int = 0
    is_copy: bool = False


@dataclass(slots=True)
class Program:
    """A joint function.

    Attributes:
        nodes: its ops in order, without the terminator.
        values: arguments first.
        arguments: the arguments that the program itself has.
        cotangents: the others.
        results: the values that the program returns.
        gradients: the values that follow them.
        owners: for values that need no copy the caller's argument or result that
            holds their elements in their order: what eager gives to nobody else, or
            checks the version of.
        taken: values whose memory a result of the program takes.
        kept: for values that the derivative reads of an argument or result, which:
            ``arg0`` or ``out3``.
        numbers: arguments that are Python numbers.
    """

    nodes: list[Node]
    values: list[Value]
    arguments: tuple[int, ...] = ()
    cotangents: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    gradients: tuple[int, ...] = ()
    owners: dict[int, int] = field(default_factory=dict)
    taken: frozenset[int] = frozenset()
    kept: dict[int, str] = field(default_factory=dict)
    numbers: frozenset[int] = frozenset()

    def producer(self, value: int) -> Node | None:
        """The op that makes a value, None for arguments."""
        position = self.values[value].node
        return None if position is None else self.nodes[position]
