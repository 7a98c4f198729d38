"""How a product fetches the next panel of an operand."""

from collections.abc import Sequence
from contextlib import ExitStack

from girih.dialects.bindings import ir
from girih.passes.tile.ahead import LINE_BYTES, Ahead
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.index import Coordinate, affine
from girih.passes.tile.nodes import LoadNode
from girih.passes.tile.sizes import product


class Fetching:
    """The lines that one block of rows fetches.

    Args:
        program: the program that is emitted, in the block's region.
        ahead: what is fetched.
        start: the first column of the panel at hand.
        number: the number of the block among those of the program.
    """

    def __init__(
        self, program, ahead: Ahead, start: ir.Value, number: ir.Value
    ) -> None:
        self._program, self._ahead = program, ahead
        grid = program.grid
        panel = grid.vectors * grid.width
        # The last panel fetches itself, and blocks past the last line that line again.
        if ahead.outer is None:
            follows = self._with("addi", start, panel)
            follows = self._with("minsi", follows, grid.lanes.size - panel)
            self._next = [(grid.lanes, follows)]
        else:
            own = program.indices.scalar(affine({ahead.outer: 1}))
            follows = self._with("addi", own, 1)
            follows = self._with("minsi", follows, ahead.outer.size - 1)
            self._next = [(ahead.outer, follows), (grid.lanes, start)]
        self._lines = [self._line(number, each) for each in range(ahead.at_once)]
        if ahead.step is not None:
            self._bases = self._bases_of_lines()

    def _with(self, name: str, value: ir.Value, number: int) -> ir.Value:
        """An operation of an index and a number, in the region at hand."""
        other = self._program.indices.size(number)
        return self._b().same(f"arith.{name}", value, other)

    def _b(self) -> Builder:
        program = self._program
        return program.indices.at(program.stack.depth)

    def _line(self, number: ir.Value, each: int) -> ir.Value:
        """Which of a step's lines a block fetches."""
        line = self._with("muli", number, self._ahead.at_once)
        line = self._with("addi", line, each)
        return self._with("minsi", line, self._ahead.lines - 1)

    def _bases_of_lines(self) -> list[ir.Value]:
        """Where the lines of step 0 lie in bytes, for a panel that is one piece."""
        grid = self._program.grid
        zero = self._program.indices.size(0)
        offset = self._offset([(c, zero) for c in grid.reduced])
        steps = product(coordinate.size for coordinate in grid.reduced)
        places = [self._with("muli", line, steps * LINE_BYTES) for line in self._lines]
        return [self._b().same("arith.addi", offset, place) for place in places]

    def _offset(self, bound: Sequence[tuple[Coordinate, ir.Value]] = ()) -> ir.Value:
        """Where the next panel has the end of the first 64 bytes, of these coordinates.

        Where panels are not aligned, what is before lies in a line with the end of
        bytes that were fetched already.
        """
        program, load = self._program, self._ahead.load
        with ExitStack() as stack:
            for coordinate, value in (*self._next, *bound):
                stack.enter_context(program.bound(coordinate, value))
            offset = program.indices.scalar(load.offset)
            bytes_ = load.element.bytes
            offset = self._with("muli", offset, bytes_)
            return self._with("addi", offset, LINE_BYTES - bytes_)

    def step(self) -> None:
        """Fetches what a step along the depth has to."""
        program, ahead = self._program, self._ahead
        buffer, _ = program.values.buffers[ahead.load.buffer]
        if ahead.step is None:
            offset = self._offset()
            others = [self._with("muli", line, LINE_BYTES) for line in self._lines]
        else:
            step = program.indices.scalar(ahead.step)
            offset = self._with("muli", step, LINE_BYTES)
            others = self._bases
        program.builder.location = ahead.load.location
        places = [self._b().same("arith.addi", offset, other) for other in others]
        for place in places:
            self._b().create("tile.prefetch", [], [buffer, place])


def fetch_beside(
    program, load: LoadNode, row: ir.Value, columns: Sequence[ir.Value]
) -> None:
    """Fetches what a row of a block is combined with, some vectors of it."""
    grid, indices = program.grid, program.indices
    bytes_ = load.element.bytes
    each = max(LINE_BYTES // (grid.width * bytes_), 1)
    buffer, _ = program.values.buffers[load.buffer]
    for start in columns[::each]:
        with program.bound(grid.rows, row), program.bound(grid.lanes, start):
            offset, size = indices.scalar(load.offset), indices.size(bytes_)
            place = indices.at(program.stack.depth).same("arith.muli", offset, size)
        program.builder.location = load.location
        indices.at(program.stack.depth).create("tile.prefetch", [], [buffer, place])
