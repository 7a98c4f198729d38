"""The body of a grid on a GPU: from the program's number to blocks and stores."""

from collections.abc import Callable, Sequence

from girih.dialects.bindings import ir
from girih.passes.tile.domain import reachable
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.gpu.indices import BlockIndices, is_whole
from girih.passes.tile.gpu.plan import Block, BlockGrid, Peeling
from girih.passes.tile.gpu.reductions import BlockReductions
from girih.passes.tile.gpu.scans import BlockScans
from girih.passes.tile.gpu.values import BlockValues
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import LoadNode
from girih.passes.tile.plan import Axis, Pass
from girih.passes.tile.sizes import Size, product

Body = Callable[[list[ir.Value]], list[ir.Value]]


class BlockProgram:
    """Emits one grid of a schedule.

    Attributes:
        ranges: bounds of coordinates of which a program walks only a part.
        is_backward: whether the open walk takes whole blocks from the last one on.
    """

    def __init__(
        self,
        grid: BlockGrid,
        builder: Builder,
        stack: FrameStack,
        indices: BlockIndices,
        values: BlockValues,
    ) -> None:
        self.grid = grid
        self.builder = builder
        self.stack = stack
        self.indices = indices
        self.values = values
        self.ranges: dict[Coordinate, tuple[ir.Value, ir.Value]] = {}
        self.is_backward = False
        self.blocks = {block.coordinate: block for block in grid.blocks}
        self.reductions = BlockReductions(grid, builder, stack, indices, values)
        self.scans = BlockScans(grid, builder, stack, indices, values)

    def emit(self) -> None:
        """Makes the ``tile.grid`` with all it contains."""
        grid = self.grid
        self.indices.blocks = grid.blocks
        self.values.substitutes = {n.number: other for n, other in grid.substitutes}
        count = product(axis.programs for axis in grid.axes)
        operands = [
            self.indices.size(count),
            self.indices.size(grid.work),
        ]
        b = self.indices.at(0)
        attributes = {
            "num_warps": b.int_attribute(grid.warps),
            "num_stages": b.int_attribute(grid.stages),
        }
        op = b.create("tile.grid", [], operands, attributes, regions=1)
        block = op.regions[0].blocks.append(self.builder.index)
        self.stack.push(op, block)
        for own in grid.blocks:
            if own.coordinate in grid.reduced and not own.is_looped:
                self._bind_block(own, self.indices.size(0))
        self._run(block.arguments[0])
        self.stack.pop()

    def _run(self, number: ir.Value) -> None:
        """All that is done for one block."""
        self._bind_axes(number, [axis.programs for axis in self.grid.axes])
        if not self.grid.walks and not self.grid.substitutes:
            self._load_first()
        for walk in self.grid.passes:
            self._walk(walk)
        self._store_all(self.grid.stores)

    def _load_first(self) -> None:
        """Loads all that does not depend on reductions, before the first of them.

        So what is needed after a reduction, such as weights, is there by then.
        """
        if len(self.grid.passes) > 1:
            stores = [store for walk in self.grid.passes for store in walk.stores]
            for node in reachable((*stores, *self.grid.stores)):
                if isinstance(node, LoadNode) and node.level == 0:
                    self.values.value(node)

    # Coordinates ------------------------------------------------------------------

    def _bind_axes(self, number: ir.Value, counts: list[Size]) -> None:
        """Takes the program's number apart, innermost axis first."""
        depth, index = self.stack.depth, self.builder.index
        axes = list(zip(self.grid.axes, counts, strict=True))
        for place, (axis, count) in reversed(list(enumerate(axes))):
            own = number
            if place:
                size = self.indices.size(count)
                own = self.indices.at(depth).op("arith.remui", index, number, size)
                number = self.indices.at(depth).op("arith.divui", index, number, size)
            self._bind_axis(axis, own)

    def _bind_axis(self, axis: Axis, number: ir.Value) -> None:
        coordinate = axis.coordinate
        if axis.number is not None:
            self.stack.top.coordinates[axis.number] = number
        if axis.chunk is None:
            self.stack.top.coordinates[coordinate] = number
            return
        chunk = self.indices.size(axis.chunk)
        low = self.indices.at(self.stack.depth).same("arith.muli", number, chunk)
        own = self.blocks.get(coordinate)
        if own is not None and not own.is_looped:
            self._bind_block(own, low)
            return
        end = self.indices.size(coordinate.size)
        b = self.indices.at(self.stack.depth)
        high = b.same("arith.minsi", b.same("arith.addi", low, chunk), end)
        self.ranges[coordinate] = (low, high)

    def _bind_block(self, block: Block, start: ir.Value) -> None:
        size = block.coordinate.size
        end = None if is_whole(size, block.size) else size
        self.indices.bind(block.coordinate, start, end)

    def _range(self, coordinate: Coordinate) -> tuple[ir.Value, ir.Value]:
        found = self.ranges.get(coordinate)
        if found is None:
            found = (self.indices.size(0), self.indices.size(coordinate.size))
        return found

    # Passes -----------------------------------------------------------------------

    def _walk(self, walk: Pass) -> None:
        """One pass over the reduced coordinates."""
        if not self.grid.walks:
            self._hold(walk)
            return
        initial = [self.reductions.initial(node) for node in walk.reductions]
        sizes = [len(values) for values in initial]

        def body(carried: list[ir.Value]) -> list[ir.Value]:
            for inner in self.grid.inner:
                self._hold(inner)
            results = []
            for node, size in zip(walk.reductions, sizes, strict=True):
                own, carried = carried[:size], carried[size:]
                results += self.reductions.take_in(node, own)
            for node, before in zip(walk.scans, carried, strict=True):
                results.append(self.scans.step(node, before))
            self._store_all(walk.stores)
            return results

        # What was read last is still in the cache: walks go forth and back.
        self.is_backward = self.grid.passes.index(walk) % 2 == 1
        looped = [block for block in self.grid.blocks if block.is_looped]
        inits = [value for values in initial for value in values]
        inits += [self.scans.initial(node) for node in walk.scans]
        results = self._nest([*self.grid.loops, *looped], inits, body)
        for node, size in zip(walk.reductions, sizes, strict=True):
            own, results = results[:size], results[size:]
            self.reductions.finish(node, own)

    def _hold(self, walk: Pass) -> None:
        """A round of reductions of what the block holds."""
        for node in walk.reductions:
            self.reductions.finish(node, self.reductions.alone(node))
        for node in walk.scans:
            self.scans.step(node, self.scans.initial(node))
        self._store_all(walk.stores)

    def _nest(
        self, loops: Sequence[Coordinate | Block], inits: list[ir.Value], body: Body
    ) -> list[ir.Value]:
        """Puts ``body`` into loops, outermost first."""
        if not loops:
            return body(inits)
        along, *inner = loops
        if isinstance(along, Block):
            return self._block_loop(along, inits, lambda c: self._nest(inner, c, body))
        bounds = (*self._range(along), self.indices.size(1))
        op, (index, *carried) = self._open_for(bounds, inits, is_innermost=not inner)
        if self.grid.unrolls:
            b = self.indices.at(self.stack.depth - 1)
            op.attributes["unroll"] = b.int_attribute(along.size)
        self.stack.top.coordinates[along] = index
        return self._close_for(op, self._nest(inner, carried, body))

    def _open_for(
        self, bounds: tuple, inits: list[ir.Value], *, is_innermost: bool
    ) -> tuple[ir.Operation, list[ir.Value]]:
        """Enters an ``scf.for``; gives it, its index and its carried values."""
        b = self.indices.at(self.stack.depth)
        types = [value.type for value in inits]
        attributes = {}
        if is_innermost and self.grid.stages > 1:
            attributes["stages"] = b.int_attribute(self.grid.stages)
        op = b.create("scf.for", types, [*bounds, *inits], attributes, regions=1)
        inner = op.regions[0].blocks.append(b.index, *types)
        self.stack.push(op, inner)
        return op, list(inner.arguments)

    def _close_for(self, op: ir.Operation, results: list[ir.Value]) -> list[ir.Value]:
        self.indices.at(self.stack.depth).create("scf.yield", [], results)
        self.stack.pop()
        return list(op.results)

    def _block_loop(
        self, block: Block, inits: list[ir.Value], body: Body
    ) -> list[ir.Value]:
        """A loop over whole blocks without masks; what is left has a masked step.

        In a peeled loop, what is before the first aligned element has one too.
        """
        low, high = self._range(block.coordinate)
        if self._is_exact(block):
            return self._steps(block, (low, high), inits, body, is_masked=False)
        peeling = self.grid.peeling
        if peeling is not None and peeling.coordinate == block.coordinate:
            start = self._aligned_start(peeling, low)
            first = self.indices.at(self.stack.depth).same("arith.minsi", start, high)
            inits = self._steps(block, (low, first), inits, body)
            low, self.values.peeling = start, peeling
        middle = self._end_of_whole(block, low, high)
        inits = self._steps(block, (low, middle), inits, body, is_masked=False)
        self.values.peeling = None
        return self._steps(block, (middle, high), inits, body)

    def _is_exact(self, block: Block) -> bool:
        """True where a program's part of a coordinate is a number of whole blocks."""
        parts = [
            axis.chunk
            for axis in self.grid.axes
            if axis.coordinate == block.coordinate and axis.chunk is not None
        ]
        sizes = (block.coordinate.size, *parts)
        return all(is_whole(size, block.size) for size in sizes)

    def _aligned_start(self, peeling: Peeling, low: ir.Value) -> ir.Value:
        """The first index from ``low`` on that lies at a multiple of the unit."""
        row = self.indices.scalar(peeling.row)
        unit, more = (
            self.indices.size(peeling.unit),
            self.indices.size(peeling.unit - 1),
        )
        b = self.indices.at(self.stack.depth)
        place = b.same("arith.addi", b.same("arith.addi", row, low), more)
        above = b.same("arith.muli", b.same("arith.divui", place, unit), unit)
        return b.same("arith.subi", above, row)

    def _end_of_whole(self, block: Block, low: ir.Value, high: ir.Value) -> ir.Value:
        """Where the whole blocks from ``low`` on end."""
        size, zero = self.indices.size(block.size), self.indices.size(0)
        b = self.indices.at(self.stack.depth)
        length = b.same("arith.maxsi", b.same("arith.subi", high, low), zero)
        whole = b.same("arith.muli", b.same("arith.divui", length, size), size)
        return b.same("arith.addi", low, whole)

    def _steps(
        self,
        block: Block,
        bounds: tuple[ir.Value, ir.Value],
        inits: list[ir.Value],
        body: Body,
        *,
        is_masked: bool = True,
    ) -> list[ir.Value]:
        """One ``tile.loop``; steps without masks have loads in flight."""
        types = [value.type for value in inits]
        b = self.indices.at(self.stack.depth)
        attributes = {
            "width": b.int_attribute(block.size),
            "unroll": b.int_attribute(1),
        }
        if not is_masked and self.grid.stages > 1:
            attributes["stages"] = b.int_attribute(self.grid.stages)
        op = b.create("tile.loop", types, [*bounds, *inits], attributes, regions=1)
        mask = b.type("i1", (block.size,))
        inner = op.regions[0].blocks.append(b.index, mask, *types)
        frame = self.stack.push(op, inner)
        start = inner.arguments[0]
        if is_masked:
            self.indices.bind_mask(block.coordinate, inner.arguments[1])
        elif self.is_backward:
            start = self._mirrored(block, bounds, start)
        frame.coordinates[block.coordinate] = start
        results = body(list(inner.arguments)[2:])
        self.indices.at(self.stack.depth).create("tile.yield", [], results)
        self.stack.pop()
        return list(op.results)

    def _mirrored(
        self, block: Block, bounds: tuple[ir.Value, ir.Value], start: ir.Value
    ) -> ir.Value:
        """Where the block begins that is as far from the end as one is from ``low``."""
        size, depth = self.indices.size(block.size), self.stack.depth
        b = self.indices.at(depth - 1)
        last = b.same("arith.subi", b.same("arith.addi", *bounds), size)
        return self.indices.at(depth).same("arith.subi", last, start)

    def _store_all(self, stores) -> None:
        """Stores results; all are computed first, as they may overwrite operands."""
        for store in stores:
            self.values.value(store.node)
        for store in stores:
            self.builder.location = store.location
            put = self.values.accumulate if store.accumulates else self.values.store
            put(store.buffer, store.offset, store.node)
