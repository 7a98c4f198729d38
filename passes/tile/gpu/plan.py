"""What a schedule for a GPU is: facts and decisions, no IR."""

from dataclasses import dataclass, field

from girih.passes.tile.domain import Store
from girih.passes.tile.index import Affine, Coordinate, affine
from girih.passes.tile.nodes import Node
from girih.passes.tile.plan import Axis, Pass
from girih.passes.tile.sizes import Size, exact_quotient, is_constant


@dataclass(frozen=True, slots=True)
class Block:
    """One dim of a program's block.

    Attributes:
        size: elements, a power of two.
        is_looped: the program walks along the coordinate, block by block; else it
            has one block of it.
    """

    coordinate: Coordinate
    size: int
    is_looped: bool = False


@dataclass(frozen=True, slots=True)
class Peeling:
    """How a loop along rows that start anywhere gets wide accesses.

    The loop begins at the first element of the row that lies at a multiple of
    ``unit`` elements of its buffer, and takes whole blocks without masks; what is
    before and after them is a masked block each.

    Attributes:
        coordinate: that of the loop.
        row: where the row begins in its buffer, without the coordinate.
        unit: elements of an access of 16 bytes.
    """

    coordinate: Coordinate
    row: Affine
    unit: int

    def is_aligned(self, offset: Affine) -> bool:
        """True where accesses at this offset are aligned when the row's are."""
        if not is_constant(offset.coefficient(self.coordinate), 1):
            return False
        apart = offset - affine({self.coordinate: 1}) - self.row
        return is_aligned(apart, self.unit)


def is_aligned(place: Affine, unit: int) -> bool:
    """True where a place is proved to be a multiple of the unit, wherever it varies."""
    steps = [coefficient for _, coefficient in place.terms]
    return all(is_multiple(c, unit) for c in (place.const, *steps))


def is_multiple(size: Size, unit: int) -> bool:
    """True where a size is proved to be a multiple of the unit."""
    return exact_quotient(size, unit) is not None


@dataclass(frozen=True, slots=True)
class BlockGrid:
    """One grid of programs.

    Attributes:
        axes: what is spread over programs, outermost first.
        blocks: the dims of the block, rows before columns.
        loops: reduced coordinates without a dim, looped over, outermost first.
        reduced: all reduced coordinates.
        passes: the walks over the reduced coordinates, in order; with closing
            coordinates, over these.
        stores: what is stored once the passes have ended.
        substitutes: loads of earlier grids' results, by the node they stand for.
        work: elements touched by all programs.
        warps: warps of a program.
        stages: loads that a loop has in flight.
        group: neighbouring elements of a row that share an accumulator.
        peeling: how the innermost loop gets wide accesses, where rows start anywhere.
        closing: the coordinates that closing reductions run over. Then blocks hold all
            of the reduced ones.
        inner: the rounds of reductions in each step of a walk over closing coordinates.
        unrolls: whether loops over reduced coordinates are written out.
    """

    axes: tuple[Axis, ...]
    blocks: tuple[Block, ...]
    loops: tuple[Coordinate, ...]
    reduced: tuple[Coordinate, ...]
    passes: tuple[Pass, ...]
    stores: tuple[Store, ...]
    substitutes: tuple[tuple[Node, Node], ...]
    work: Size
    warps: int
    stages: int
    group: int = field(default=1, kw_only=True)
    peeling: Peeling | None = field(default=None, kw_only=True)
    closing: tuple[Coordinate, ...] = field(default=(), kw_only=True)
    inner: tuple[Pass, ...] = field(default=(), kw_only=True)
    unrolls: bool = field(default=False, kw_only=True)

    @property
    def walks(self) -> bool:
        """True where a pass over the reduced coordinates needs a loop."""
        return bool(self.loops) or any(block.is_looped for block in self.blocks)
