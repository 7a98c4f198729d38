"""The body of a grid: from the program's number to loops, passes and stores."""

from collections.abc import Callable, Sequence

from girih.dialects.bindings import ir
from girih.dialects.types import buffer_type
from girih.passes.tile.elements import Element
from girih.passes.tile.emit import reduction, scan
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.indices import Indices
from girih.passes.tile.emit.precision import decided_on
from girih.passes.tile.emit.values import Values
from girih.passes.tile.index import Affine, Coordinate
from girih.passes.tile.interleaved import interleaved
from girih.passes.tile.nodes import ReduceNode, ScanNode
from girih.passes.tile.pieces import Segment
from girih.passes.tile.plan import (
    BLOCK_STEPS,
    Axis,
    Grid,
    Local,
    Pass,
    Stage,
    largest_block,
)
from girih.passes.tile.sizes import Size, exact_quotient, product

Accumulators = list[list[ir.Value]]
Body = Callable[[list[ir.Value]], list[ir.Value]]


class Program:
    """Emits one grid of a schedule.

    Attributes:
        ranges: bounds of coordinates of which a program has only a part.
    """

    def __init__(
        self,
        grid: Grid,
        private: tuple[Local, ...],
        builder: Builder,
        stack: FrameStack,
        indices: Indices,
        values: Values,
    ) -> None:
        self.grid = grid
        self.private = private
        self.builder = builder
        self.stack = stack
        self.indices = indices
        self.values = values
        self.ranges: dict[Coordinate, tuple[ir.Value, ir.Value]] = {}

    def emit(self) -> None:
        """Makes the ``tile.grid`` with all it contains."""
        grid = self.grid
        self.indices.lanes = grid.lanes
        self.values.substitutes = {
            node.number: other for node, other in grid.substitutes
        }
        counts = [axis.programs for axis in grid.axes]
        operands = [
            self.indices.size(product(counts)),
            self.indices.size(grid.work),
        ]
        op = self.indices.at(0).create("tile.grid", [], operands, regions=1)
        block = op.regions[0].blocks.append(self.builder.index)
        self.stack.push(op, block)
        for local in self.private:
            b = self.indices.at(self.stack.depth)
            self.values.buffers[local.number] = make_local(b, local)
        self._bind_axes(block.arguments[0], counts)
        for stage in grid.stages:
            self._stage(stage)
        self._loops(grid.loops, self._passes)
        self.stack.pop()

    def _bind_axes(self, number: ir.Value, counts: list[Size]) -> None:
        """Takes the program's number apart, innermost axis first."""
        depth = self.stack.depth
        index = self.builder.index
        axes = list(zip(self.grid.axes, counts, strict=True))
        for place, (axis, count) in reversed(list(enumerate(axes))):
            own = number
            if place:
                size = self.indices.size(count)
                own = self.indices.at(depth).op("arith.remui", index, number, size)
                number = self.indices.at(depth).op("arith.divui", index, number, size)
            self._bind_axis(axis, own)

    def _bind_axis(self, axis: Axis, number: ir.Value) -> None:
        coordinate, depth = axis.coordinate, self.stack.depth
        if axis.number is not None:
            self.stack.top.coordinates[axis.number] = number
        if axis.chunk is None:
            self.stack.top.coordinates[coordinate] = number
            return
        chunk, end = self.indices.size(axis.chunk), self.indices.size(coordinate.size)
        b = self.indices.at(depth)
        low = b.same("arith.muli", number, chunk)
        high = b.same("arith.addi", low, chunk)
        if exact_quotient(coordinate.size, axis.chunk) is None:
            high = b.same("arith.minsi", high, end)
        self.ranges[coordinate] = (low, high)

    # Stages ---------------------------------------------------------------------

    def _stage(self, stage: Stage) -> None:
        """Copies a block of an input to its private buffer, square by square."""
        masks: list[ir.Value] = []

        def turn(carried: list[ir.Value]) -> list[ir.Value]:
            masks.append(self.stack.top.mask)
            self._turn_square(stage, *masks)
            masks.pop()
            return []

        def along_rows(carried: list[ir.Value]) -> list[ir.Value]:
            masks.append(self.stack.top.mask)
            self._lanes_loop(stage.lanes, stage.width, turn)
            masks.pop()
            return []

        self._lanes_loop(stage.rows, stage.width, along_rows)

    def _lanes_loop(self, coordinate: Coordinate, width: int, body) -> None:
        """A loop by lanes over any coordinate."""
        lanes, self.indices.lanes = self.indices.lanes, coordinate
        self._loop(coordinate, width, [], body)
        self.indices.lanes = lanes

    def _turn_square(self, stage: Stage, row_mask: ir.Value, mask: ir.Value) -> None:
        """Loads a square along the input's rows, stores it along the lanes."""
        load = stage.load
        buffer, element = self.values.buffers[load.buffer]
        source = self.indices.scalar(load.offset)
        target = self.indices.scalar(stage.place)
        steps = [self.indices.size(load.offset.coefficient(stage.lanes))]
        one, side = self.indices.size(1), self.indices.size(stage.side)
        self.builder.location = load.location
        b = self.indices.at(self.stack.depth)
        square = b.load_square(
            buffer, source, (*steps, one), (mask, row_mask), element, stage.width
        )
        turned = b.same(
            "vector.transpose", square, permutation=b.parsed("array<i64: 1, 0>")
        )
        own, _ = self.values.buffers[stage.buffer]
        # The block is a whole number of squares, so that no mask is needed here.
        b.store_square(turned, own, target, (side, one))

    def _range(self, coordinate: Coordinate) -> tuple[ir.Value, ir.Value]:
        found = self.ranges.get(coordinate)
        if found is None:
            found = (self.indices.size(0), self.indices.size(coordinate.size))
        return found

    # Loops ----------------------------------------------------------------------

    def _loops(
        self, coordinates: Sequence[Coordinate], body: Callable[[], None]
    ) -> None:
        """Puts ``body`` into loops over parallel coordinates."""
        if not coordinates:
            body()
            return
        first, rest = coordinates[0], coordinates[1:]

        def inner(carried: list[ir.Value]) -> list[ir.Value]:
            self._loops(rest, body)
            return []

        self._loop(first, self.grid.width, [], inner)

    def _loop(
        self,
        coordinate: Coordinate,
        width: int,
        inits: list[ir.Value],
        body: Callable[[list[ir.Value]], list[ir.Value]],
    ) -> list[ir.Value]:
        """The loops over one coordinate: one, or one for each segment of it."""
        cut = self.grid.segmented or self.grid.lanes
        if coordinate != cut or not self.grid.segments:
            return self._one_loop(coordinate, width, inits, body)
        for segment in self.grid.segments:
            inits = self._segment(coordinate, segment, width, inits, body)
        return inits

    def _segment(
        self,
        coordinate: Coordinate,
        segment: Segment,
        width: int,
        inits: list[ir.Value],
        body: Body,
    ) -> list[ir.Value]:
        """The loop over a segment of a coordinate."""
        known, bounds = self.values.substitutes, self.ranges.get(coordinate)
        nodes = {node.number: other for node, other in segment.substitutes}
        # Values that an earlier pass kept stand for nodes of all segments.
        self.values.substitutes = nodes | known
        self.ranges[coordinate] = self._range_in(segment, bounds)
        if segment.width is not None:
            width = segment.width
        lanes = self.indices.lanes
        if width == 0 and coordinate == lanes:
            self.indices.lanes = None
        inits = self._one_loop(coordinate, width, inits, body)
        self.indices.lanes = lanes
        self.values.substitutes = known
        del self.ranges[coordinate]
        if bounds is not None:
            self.ranges[coordinate] = bounds
        return inits

    def _range_in(
        self, segment: Segment, bounds: tuple[ir.Value, ir.Value] | None
    ) -> tuple[ir.Value, ir.Value]:
        """The part of a segment that lies in the program's part of the coordinate."""
        low, high = self.indices.size(segment.low), self.indices.size(segment.high)
        if bounds is None:
            return low, high
        b = self.indices.at(self.stack.depth)
        return b.same("arith.maxsi", low, bounds[0]), b.same(
            "arith.minsi", high, bounds[1]
        )

    def _one_loop(
        self, coordinate: Coordinate, width: int, inits: list[ir.Value], body: Body
    ) -> list[ir.Value]:
        """A loop over one coordinate, by lanes where vectors lie along it."""
        low, high = self._range(coordinate)
        is_lanes = coordinate == self.indices.lanes
        bounds = [low, high] if is_lanes else [low, high, self.indices.size(1)]
        types = [value.type for value in inits]
        b = self.indices.at(self.stack.depth)
        attributes = {"width": b.int_attribute(width), "unroll": b.int_attribute(1)}
        op = b.create(
            "tile.loop" if is_lanes else "scf.for",
            types,
            [*bounds, *inits],
            attributes if is_lanes else None,
            regions=1,
        )
        masks = [b.type("i1", width)] if is_lanes else []
        block = op.regions[0].blocks.append(b.index, *masks, *types)
        frame = self.stack.push(op, block)
        frame.coordinates[coordinate] = block.arguments[0]
        if is_lanes:
            frame.mask, frame.width = block.arguments[1], width
        results = body(list(block.arguments)[1 + len(masks) :])
        name = "tile.yield" if is_lanes else "scf.yield"
        self.indices.at(self.stack.depth).create(name, [], results)
        self.stack.pop()
        return list(op.results)

    # Passes ---------------------------------------------------------------------

    def _passes(self) -> None:
        """Everything for one point of the parallel coordinates (or one vector)."""
        if self.grid.in_registers:
            self._loop(self.grid.lanes, self.grid.width, [], self._row_in_registers)
            return
        for walk in self.grid.passes:
            self._walk(walk)
        self._store_all(self.grid.stores)

    def _row_in_registers(self, carried: list[ir.Value]) -> list[ir.Value]:
        """All passes over one vector that holds the whole row."""
        for walk in self.grid.passes:
            for node in walk.reductions:
                accumulator = self._take_in(node, self._initial(node))
                self._finish(node, accumulator)
            self._store_all(walk.stores)
        self._store_all(self.grid.stores)
        return []

    def _walk(self, walk: Pass) -> None:
        """One pass over the reduced coordinates."""
        sizes = [len(self._initial(node)) for node in walk.reductions]
        inits = [v for node in walk.reductions for v in self._initial(node)]
        inits += [self._scan_start(node) for node in walk.scans]

        def body(carried: list[ir.Value]) -> list[ir.Value]:
            results = []
            for node, size in zip(walk.reductions, sizes, strict=True):
                own, carried = carried[:size], carried[size:]
                results += self._take_in(node, own)
            for node, before in zip(walk.scans, carried, strict=True):
                results.append(self._scan_step(node, before))
            self._store_all(walk.stores)
            for keep in walk.keeps:
                self.values.store(keep.buffer, keep.offset, keep.node)
            return results

        results = self._reduced_loops(self.grid.reduced, walk, inits, body)
        for node, size in zip(walk.reductions, sizes, strict=True):
            own, results = results[:size], results[size:]
            self._finish(node, own)
        for keep in walk.keeps:
            self.values.substitutes[keep.node.number] = keep.load

    def _reduced_loops(self, coordinates, walk: Pass, inits, body) -> list[ir.Value]:
        if not coordinates:
            return body(inits)

        def inner(carried: list[ir.Value]) -> list[ir.Value]:
            return self._reduced_loops(coordinates[1:], walk, carried, body)

        first = coordinates[0]
        if first == walk.blocked:
            width = walk.width if first == self.grid.lanes else 1
            steps = largest_block(first.size, width)
            return self._blocked_loop(first, walk, inits, inner, steps)
        return self._loop(first, walk.width, inits, inner)

    def _blocked_loop(
        self, coordinate, walk: Pass, inits, body, steps: int
    ) -> list[ir.Value]:
        """A loop in blocks that start afresh: long sums are sums of short ones.

        Blocks of more than ``BLOCK_STEPS`` steps are loops in blocks themselves.
        """
        low, high = bounds = self._range(coordinate)
        width = walk.width if coordinate == self.grid.lanes else 1
        step = self.indices.size(steps * width)
        b = self.indices.at(self.stack.depth)
        types = [value.type for value in inits]
        op = b.create("scf.for", types, [low, high, step, *inits], regions=1)
        block = op.regions[0].blocks.append(b.index, *types)
        start, *totals = block.arguments
        self.stack.push(op, block)
        b = self.indices.at(self.stack.depth)
        end = b.same("arith.minsi", b.same("arith.addi", start, step), high)
        self.ranges[coordinate] = (start, end)
        # Not with what loops around this one carry: the merge below adds that.
        fresh = [v for node in walk.reductions for v in self._initial(node)]
        if steps > BLOCK_STEPS:
            shorter = steps // BLOCK_STEPS
            results = self._blocked_loop(coordinate, walk, fresh, body, shorter)
        else:
            results = self._loop(coordinate, walk.width, fresh, body)
        self.ranges[coordinate] = bounds
        merged = [
            self._merged(node, *pair)
            for node, *pair in zip(walk.reductions, totals, results, strict=True)
        ]
        self.indices.at(self.stack.depth).create("scf.yield", [], merged)
        self.stack.pop()
        return list(op.results)

    def _merged(self, node: ReduceNode, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """Two partial results of a reduction as one."""
        b = self.indices.at(self.stack.depth, self._width_now(node))
        return reduction.merge(b, node, lhs, rhs)

    def _store_all(self, stores) -> None:
        """Stores results; all are computed first, as they may overwrite operands."""
        for store in stores:
            self.values.value(store.node)
        for row in interleaved(stores, self.indices.lanes):
            self.builder.location = row[0].location
            if len(row) > 1 and self.indices.lane_width:
                nodes = [store.node for store in row]
                self.values.store_in_turn(row[0].buffer, row[0].offset, nodes)
                continue
            for store in row:
                self.builder.location = store.location
                self.values.store(store.buffer, store.offset, store.node)

    # Reductions -----------------------------------------------------------------

    def _lanes_of(self, node: ReduceNode, walk_width: int) -> int:
        """Lanes of a reduction's accumulator; 0 for a scalar one."""
        if self.grid.lanes is None:
            return 0
        if self.grid.lanes in self.grid.reduced:
            return walk_width
        return self.grid.width if self.grid.lanes in node.coordinates else 0

    def _width_now(self, node: ReduceNode) -> int:
        walk = next(w for w in self.grid.passes if node in w.reductions)
        width = self.grid.width if self.grid.in_registers else walk.width
        return self._lanes_of(node, width)

    def _initial(self, node: ReduceNode) -> list[ir.Value]:
        builder = self.indices.at(self.stack.depth, self._width_now(node))
        return reduction.initial(builder, node)

    def _take_in(self, node: ReduceNode, accumulator: list[ir.Value]):
        """The accumulator after the element (or vector) where the loops stand."""
        width = self._width_now(node)
        operand = node.operands[0]
        value = self.values.lanes(operand) if width else self.values.value(operand)
        positions = [] if node.position is None else [self._position(node, width)]
        self.builder.location = node.location
        b = self.indices.at(self.stack.depth, width)
        positions = [reduction.narrowed(b, node, each) for each in positions]
        (value,) = decided_on(b, node, [value])
        results = reduction.combine(b, node, accumulator, value, *positions)
        if not self._is_masked(width):
            return results
        mask = self.stack.frames[self.stack.depth_of(self.grid.lanes)].mask
        pairs = zip(results, accumulator, strict=True)
        return [b.select(mask, new, old) for new, old in pairs]

    def _is_masked(self, width: int) -> bool:
        return bool(width) and self.grid.lanes in self.grid.reduced

    def _position(self, node: ReduceNode, width: int) -> ir.Value:
        """The position along the reduced dim, as i64."""
        expression: Affine = node.position
        if width and self.indices.varies(expression):
            return self.indices.per_lane(expression)
        index = self.indices.scalar(expression)
        b = self.indices.at(self.stack.depth, width)
        narrow = b.op("arith.index_cast", b.type("i64", 0), index)
        return b.splat(narrow, "i64")

    def _finish(self, node: ReduceNode, accumulator: list[ir.Value]) -> None:
        """Makes the result known where the loops have ended."""
        width = self._width_now(node)
        b = self.indices.at(self.stack.depth, width)
        if self._is_masked(width):
            accumulator = reduction.across_lanes(b, node, accumulator)
        self.stack.top.values[node.number] = reduction.result(b, node, accumulator)

    # Scans ----------------------------------------------------------------------

    def _scan_width(self, node: ScanNode) -> int:
        return self.grid.width if self.grid.lanes in node.coordinates else 0

    def _scan_start(self, node: ScanNode) -> ir.Value:
        b = self.indices.at(self.stack.depth, self._scan_width(node))
        return scan.initial(b, node)

    def _scan_step(self, node: ScanNode, before: ir.Value) -> ir.Value:
        """Makes the scan's value known here; gives what is carried on."""
        width, operand = self._scan_width(node), node.operands[0]
        value = self.values.lanes(operand) if width else self.values.value(operand)
        self.builder.location = node.location
        b = self.indices.at(self.stack.depth, width)
        is_along = self.grid.lanes in self.grid.reduced
        result, after = scan.take_in(b, node, before, value, is_along=is_along)
        self.stack.top.values[node.number] = result
        return after


def make_local(builder: Builder, local: Local) -> tuple[ir.Value, Element]:
    """Makes a workspace or scratch buffer here."""
    element: Element = local.element
    type_ = buffer_type((local.elements,), (1,), ir.Type.parse(element.name))
    name = "tile.workspace" if local.is_shared else "tile.scratch"
    attributes = {"elements": builder.int_attribute(local.elements)}
    op = builder.create(name, [type_], [], attributes)
    return op.results[0], element
