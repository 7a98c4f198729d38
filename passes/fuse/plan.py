"""Options, groups and the plan of ``fuse``."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from girih.passes.choices import ChoiceOptions
from girih.passes.fuse.chain import (
    Reshape,
    extend,
    is_reshape_only,
    result_shape,
    without_trailing_broadcast,
)
from girih.passes.fuse.program import Kind, Node, Program, Read
from girih.passes.fuse.shapes import Shape, reduced_shape, without_leading_ones


@dataclass(frozen=True)
class FuseOptions(ChoiceOptions):
    """What limits a fusion."""

    max_inputs: int = 64
    """Most tensors that one fusion reads."""

    max_ops: int = 256
    """Most ops that one fusion computes. An op that is computed several times counts
    each time."""

    parallel_rows: int = 8
    """Fewest independent rows of a fusion that reduces rows and then works on whole
    rows."""

    small_elements: int = 8192
    """Domains of at most so many elements need no independent rows."""

    small_row: int = 0
    """Rows of at most so many elements need no other rows. On a GPU one program holds
    such a row, and two launches cost more than other processors save."""

    max_recompute: int = 8
    """How many times fusions compute cheap arithmetic again instead of storing its
    result."""

    max_expensive_recompute: int = 3
    """How many times fusions compute divisions, exponentials and the like again."""

    max_moved_ops: int = 32
    """Most ops behind a reduction that its fusion computes again at other places of
    the row, as for a rotary embedding. Each place counts."""

    max_concat_operands: int = 4
    """Most operands of a concat that becomes part of a fusion."""

    stores_weights: bool = False
    """Stores floats that take more than a few ops and read no tensor, as the weights of
    interpolation, and elements at an index that is computed: on the CPU a small kernel
    costs less than these ops in each lane."""


class Reason(Enum):
    """Why a group does not join one that it reads from."""

    DOMAINS = "their iteration spaces have different sizes"
    REDUCTIONS = "they reduce different dims, or tensors of different shapes"
    COORDINATES = (
        "the consumer reads elements at other coordinates than those at which the "
        "producer computes them"
    )
    POSITIONS = "argmax, argmin or a scan would go along more than one dim"
    SCANS = "a running sum and a reduction are kernels of their own"
    ROWS = "fewer rows than parallel-rows would wait for a reduction"
    INDEX = "the value is the index of a gather or take"
    INDIRECT = (
        "the consumer reads the value only through an op that fuse copies into each "
        "reader"
    )
    SCATTERED = "the kernel adds to the tensor where it lies, all over it"
    REDUCES = "a reduction is not computed again for each reader"
    NEEDED = "the value is needed elsewhere, too, and would be computed twice"
    RECOMPUTED = "elements would be computed more often than max-recompute"
    EXPENSIVE = "elements would be computed more often than max-expensive-recompute"
    OPS = "the kernel would have more ops than max-ops"
    INPUTS = "the kernel would read more tensors than max-inputs"
    BETWEEN = "an op outside of the kernel reads from the one and feeds the other"
    LATER = (
        "the two could be fused only after other ops had joined, and fuse tries each "
        "pair once"
    )


class Level(Enum):
    """Where in the domain a value of a group stands."""

    FULL = "full"  # at every point
    REDUCED = "reduced"  # once for all points along the reduced dims


@dataclass(frozen=True, slots=True)
class Placement:
    """The iteration space of a group and the place of its members in it.

    Attributes:
        domain: the iteration space.
        reduced: the dims of ``domain`` that the group's reductions reduce.
        levels: the members that stand at domain coordinates, and at which level.
        inline: members that are computed wherever a reader wants them.
    """

    domain: Shape
    reduced: frozenset[int]
    levels: dict[int, Level]
    inline: frozenset[int] = frozenset()

    @property
    def members(self) -> list[int]:
        """Positions of all members, in order."""
        return sorted((*self.levels, *self.inline))

    def shape_at(self, level: Level) -> Shape:
        """Returns the shape of a value at ``level``."""
        if level is Level.FULL:
            return self.domain
        return reduced_shape(self.domain, self.reduced)

    def shape_of(self, node: Node) -> Shape:
        """Returns the shape that the result of an anchored member has here."""
        return self.shape_at(self.levels[node.position])

    def working_shape(self, node: Node) -> Shape:
        """Returns the shape at which an anchored member reads its operands."""
        return self.domain if node.kind is Kind.REDUCTION else self.shape_of(node)


def is_in_place(
    program: Program, placement: Placement, producer: Node, source: Shape, chain
) -> bool:
    """Returns whether ``chain`` reads an anchored member where it stands.

    Args:
        program: the program.
        placement: the group's placement.
        producer: the anchored member.
        source: the shape of its result in the program.
        chain: from ``source`` to a shape of the domain.
    """
    if producer.position not in placement.levels:
        return False
    chain = without_trailing_broadcast(chain)
    if not is_reshape_only(source, chain):
        return False
    place = placement.shape_of(producer)
    return without_leading_ones(result_shape(source, chain)) == without_leading_ones(
        place
    )


def reads_inside(
    program: Program, placement: Placement
) -> Iterator[tuple[Node, Node, Read]]:
    """Yields ``(producer, consumer, read)`` for reads between members."""
    members = set(placement.members)
    for position in placement.members:
        consumer = program.nodes[position]
        for read in consumer.reads:
            producer = program.producer(read.value)
            if producer is not None and producer.position in members:
                yield producer, consumer, read


def chain_to_domain(program: Program, placement: Placement, consumer: Node, read: Read):
    """Returns the chain of a read of an anchored member, up to the domain."""
    source = program.values[read.value].shape
    target = placement.working_shape(consumer)
    return extend(source, read.chain, [Reshape(target)])


@dataclass(frozen=True)
class FusionGroup:
    """One fusion.

    Attributes:
        placement: iteration space and members.
        outputs: ids of the values that others need, in order.
    """

    placement: Placement
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Refusal:
    """A group that reads from another one and does not join it.

    Attributes:
        producer: the placement of the group that makes the values.
        consumer: the placement of the group that reads them.
        values: ids of the values.
        reasons: what speaks against one group; where there are two, why they have no
            common iteration space, and why the reader does not compute the values.
    """

    producer: Placement
    consumer: Placement
    values: tuple[int, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class FusionPlan:
    """What ``fuse`` is going to do: groups in an order in which they can run.

    Attributes:
        program: the program that the positions and ids refer to.
        groups: the fusions.
        order: what the block becomes: positions of ops that stay, and groups.
    """

    program: Program
    groups: tuple[FusionGroup, ...]
    order: tuple[int | FusionGroup, ...]
