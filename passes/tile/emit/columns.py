"""The body of a grid whose accumulators lie in memory, for a block of columns."""

from collections.abc import Callable, Sequence

from girih.dialects.bindings import ir
from girih.passes.tile.columns import Sums
from girih.passes.tile.emit.program import Program
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import LoadNode


class ColumnProgram(Program):
    """Emits a grid of ``ColumnBlocks``."""

    def _loops(
        self, coordinates: Sequence[Coordinate], body: Callable[[], None]
    ) -> None:
        """As loops over points, with blocks of columns innermost."""
        super()._loops([c for c in coordinates if c != self.grid.lanes], body)

    def _passes(self) -> None:
        self._steps(self.grid.lanes, self.grid.columns.size, self._block)

    def _steps(
        self, coordinate: Coordinate, size: int, body: Callable[[], None]
    ) -> None:
        """A loop over stretches of a coordinate, within the stretch at hand."""
        outer = self.ranges.get(coordinate)
        low, high = self._range(coordinate)
        step = self.indices.size(size)
        op = self.indices.at(self.stack.depth).create(
            "scf.for", [], [low, high, step], regions=1
        )
        block = op.regions[0].blocks.append(self.builder.index)
        frame = self.stack.push(op, block)
        start = block.arguments[0]
        if coordinate == self.grid.lanes:
            frame.coordinates[self.grid.columns.start] = start
        b = self.indices.at(self.stack.depth)
        end = b.same("arith.minsi", b.same("arith.addi", start, step), high)
        self.ranges[coordinate] = (start, end)
        body()
        self.indices.at(self.stack.depth).create("scf.yield", [], [])
        self.stack.pop()
        if outer is None:
            del self.ranges[coordinate]
        else:
            self.ranges[coordinate] = outer

    def _block(self) -> None:
        """All that is computed of a block of columns."""
        columns, outer = self.grid.columns, self.grid.reduced[0]
        self._columns(lambda: self._begin(lambda sums: sums.total))
        if columns.steps is None:
            self._rows(self.grid.reduced)
        else:
            self._steps(outer, columns.steps, self._stretch)
        known = self.values.substitutes
        totals = {sums.node.number: sums.total for sums in columns.sums}
        self.values.substitutes = {**known, **totals}
        self._columns(lambda: self._store_all(self.grid.stores))
        self.values.substitutes = known

    def _stretch(self) -> None:
        """Rows with sums of their own, which the totals take over."""
        self._columns(lambda: self._begin(lambda sums: sums.current))
        self._rows(self.grid.reduced)
        self._columns(self._take_over)

    def _columns(self, body: Callable[[], None]) -> None:
        """The loop over the columns of the block."""

        def inner(carried: list[ir.Value]) -> list[ir.Value]:
            body()
            return []

        self._loop(self.grid.lanes, self.grid.width, [], inner)

    def _begin(self, which: Callable[[Sums], LoadNode]) -> None:
        for sums in self.grid.columns.sums:
            (start,) = self._initial(sums.node)
            self._put(which(sums), start)

    def _take_over(self) -> None:
        for sums in self.grid.columns.sums:
            both = (self.values.lanes(load) for load in (sums.total, sums.current))
            self._put(sums.total, self._merged(sums.node, *both))

    def _put(self, load: LoadNode, value: ir.Value) -> None:
        """Stores what a load of an accumulator gives from now on."""
        self.values.put(load.buffer, load.offset, value)

    # Rows -----------------------------------------------------------------------

    def _rows(self, coordinates: Sequence[Coordinate]) -> None:
        """The loops over the reduced coordinates, some rows at a time."""
        first, *rest = coordinates
        if not rest:
            size = self.grid.columns.rows
            self._steps(first, size, lambda: self._columns(self._sum))
            return

        def inner(carried: list[ir.Value]) -> list[ir.Value]:
            self._rows(rest)
            return []

        self._loop(first, self.grid.width, [], inner)

    def _sum(self) -> None:
        """Adds up the rows at hand, and adds the sums to the accumulators."""
        nodes = [sums.node for sums in self.grid.columns.sums]

        def body(carried: list[ir.Value]) -> list[ir.Value]:
            pairs = zip(nodes, carried, strict=True)
            return [self._take_in(node, [own])[0] for node, own in pairs]

        inits = [self._initial(node)[0] for node in nodes]
        results = self._loop(self.grid.reduced[-1], self.grid.width, inits, body)
        for sums, result in zip(self.grid.columns.sums, results, strict=True):
            before = self.values.lanes(sums.current)
            self._put(sums.current, self._merged(sums.node, before, result))
