"""What a schedule is: facts and decisions, no IR.

A kernel runs as one or more grids, one after another. A grid runs independent
programs; a program walks its part of the parallel coordinates and, inside, makes one
pass over the reduced coordinates for each round of reductions.
"""

from dataclasses import dataclass, field

from girih.dialects.dims import ceildiv
from girih.passes.tile.domain import Store
from girih.passes.tile.elements import Element
from girih.passes.tile.index import Affine, Coordinate
from girih.passes.tile.nodes import LoadNode, Node, ReduceNode, ScanNode
from girih.passes.tile.pieces import Segment
from girih.passes.tile.sizes import Size, known

# Additions into one accumulator before the next block starts.
BLOCK_STEPS = 64
# Blocks of symbolic sizes are added up by so many, too.
_GUESSED_STEPS = BLOCK_STEPS**3


def largest_block(size: Size, width: int) -> int:
    """Steps of the outermost blocks of a long sum: few of them are left to add.

    Args:
        size: Of the coordinate.
        width: Values of it that a step takes.
    """
    total = known(size, _GUESSED_STEPS * width) // width
    steps = BLOCK_STEPS
    while steps * BLOCK_STEPS < total:
        steps *= BLOCK_STEPS
    return steps


@dataclass(frozen=True, slots=True)
class Axis:
    """A coordinate spread over programs, ``chunk`` consecutive values for each.

    With ``chunk`` None a program has one value, and needs no loop for it. ``number``
    stands for the number of the chunk.
    """

    coordinate: Coordinate
    chunk: Size | None = None
    number: Coordinate | None = None

    @property
    def programs(self) -> Size:
        """How many programs the coordinate is spread over."""
        if self.chunk is None:
            return self.coordinate.size
        return ceildiv(self.coordinate.size, self.chunk)


@dataclass(frozen=True, slots=True)
class Local:
    """A buffer that the schedule adds.

    Attributes:
        number: stands beside the numbers of the kernel's own buffers.
        elements: its size; static, because it is allocated on the stack.
        is_shared: shared by all programs of all grids (a workspace), else private.
    """

    number: int
    element: Element
    elements: int
    is_shared: bool


@dataclass(frozen=True, slots=True)
class Keep:
    """A value stored by one pass so that later passes load it instead of computing."""

    node: Node
    buffer: int
    offset: Affine
    load: Node


@dataclass(frozen=True, slots=True)
class Pass:
    """One walk over the reduced coordinates.

    Attributes:
        width: lanes of the innermost loop when it runs over reduced elements.
        blocked: the coordinate whose loop goes in blocks of ``BLOCK_STEPS`` steps (and
            those in blocks of blocks) with accumulators of their own, where sums are
            long.
        scans: what is carried from one step to the next; the loops go forwards.
    """

    reductions: tuple[ReduceNode, ...]
    stores: tuple[Store, ...]
    keeps: tuple[Keep, ...]
    width: int
    blocked: Coordinate | None = None
    scans: tuple[ScanNode, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class Stage:
    """A block of an input copied to a private buffer, turned on the way.

    Attributes:
        load: the load whose elements are copied.
        buffer: the number of the private buffer.
        place: where in it the element at a point of the domain goes.
        rows: the coordinate along which the input is contiguous.
        lanes: the coordinate along which the copy is contiguous.
        side: elements of a row of the block.
        width: the side of the squares that are turned in registers.
    """

    load: LoadNode
    buffer: int
    place: Affine
    rows: Coordinate
    lanes: Coordinate
    side: int
    width: int


@dataclass(frozen=True, slots=True)
class Grid:
    """One grid of programs.

    Attributes:
        axes: what is spread over programs, outermost first.
        loops: parallel coordinates looped over inside, outermost first; those
            that an axis gives one value for are not among them.
        reduced: reduced coordinates, outermost first.
        lanes: the coordinate along which vectors lie, or None for scalar code.
        width: lanes of the loop over ``lanes`` where that is a parallel coordinate,
            or where the row lies in registers.
        passes: the walks over the reduced coordinates, in order.
        stores: what is stored once the passes have ended.
        in_registers: a whole row of reduced elements is one vector.
        substitutes: loads of earlier grids' results, by the number of the node.
        work: elements touched by all programs.
        stages: what is copied before the loops begin.
        segments: stretches of a coordinate with loops of their own; none where one
            loop does.
        segmented: this coordinate, None for the lanes'.
        columns: how accumulators of columns lie in memory (``tile.columns``).
    """

    axes: tuple[Axis, ...]
    loops: tuple[Coordinate, ...]
    reduced: tuple[Coordinate, ...]
    lanes: Coordinate | None
    width: int
    passes: tuple[Pass, ...]
    stores: tuple[Store, ...]
    in_registers: bool
    substitutes: tuple[tuple[Node, Node], ...]
    work: Size
    stages: tuple[Stage, ...] = ()
    segments: tuple[Segment, ...] = ()
    segmented: Coordinate | None = None
    columns: object | None = None


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """The schedule of one kernel.

    Attributes:
        kind: the name of the schedule.
        reason: why it was chosen, for people.
        is_blocked: the grids are ``BlockGrid``s (of ``tile.gpu``).
    """

    kind: str
    reason: str
    grids: tuple[Grid, ...]
    locals: tuple[Local, ...]
    is_blocked: bool = False

    @property
    def text(self) -> str:
        """What stands in the kernel's ``schedule`` attribute."""
        return f"{self.kind}: {self.reason}"
