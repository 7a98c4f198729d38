"""What a schedule for a GPU is: facts and decisions, no IR."""

from dataclasses import dataclass

from girih.passes.tile.domain import Store
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import Node
from girih.passes.tile.plan import Axis, Pass
from girih.passes.tile.sizes import Size


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
class BlockGrid:
    """One grid of programs.

    Attributes:
        axes: what is spread over programs, outermost first.
        blocks: the dims of the block, rows before columns.
        loops: reduced coordinates without a dim, looped over, outermost first.
        reduced: all reduced coordinates.
        passes: the walks over the reduced coordinates, in order.
        stores: what is stored once the passes have ended.
        substitutes: loads of earlier grids' results, by the node they stand for.
        work: elements touched by all programs.
        warps: warps of a program.
        stages: loads that a loop has in flight.
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

    @property
    def walks(self) -> bool:
        """True where a pass over the reduced coordinates needs a loop."""
        return bool(self.loops) or any(block.is_looped for block in self.blocks)
