"""The body of a grid that multiplies matrices: a loop over blocks of both operands.

Values lie in three spaces of two dims: a block of a has rows and summands, one of b
summands and columns, one of results rows and columns. What was computed in one space
has another shape in the next, so each has its own memory of what is known.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from girih.dialects.bindings import ir
from girih.passes.tile.contraction import Product
from girih.passes.tile.elements import F32, Element
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.frame import Frame, FrameStack
from girih.passes.tile.emit.precision import narrowed
from girih.passes.tile.gpu.contraction_choose import ContractionGrid
from girih.passes.tile.gpu.indices import BlockIndices, is_whole
from girih.passes.tile.gpu.plan import Block
from girih.passes.tile.gpu.values import BlockValues
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import LoadNode, Node
from girih.passes.tile.plan import Axis
from girih.passes.tile.sizes import Size, is_constant, product

_A, _B, _RESULTS = "a", "b", "results"


class ContractionProgram:
    """Emits one grid of a product.

    Attributes:
        spaces: the dims of a block of each space.
        part: bounds of the summands of a program, where sums are split.
    """

    def __init__(
        self,
        grid: ContractionGrid,
        builder: Builder,
        stack: FrameStack,
        indices: BlockIndices,
        values: BlockValues,
    ) -> None:
        rows, columns = grid.blocks
        self.grid = grid
        self.builder = builder
        self.stack = stack
        self.indices = indices
        self.values = values
        self.spaces: dict[str, tuple[Block, Block]] = {
            _A: (rows, grid.depth),
            _B: (grid.depth, columns),
            _RESULTS: grid.blocks,
        }
        self.part: tuple[ir.Value, ir.Value] | None = None
        self._known: dict[tuple[str, int], tuple[Frame, dict]] = {}

    def emit(self) -> None:
        """Makes the ``tile.grid`` with all it contains."""
        grid = self.grid
        self.indices.blocks = grid.blocks
        self.values.substitutes = {}
        counts = [axis.programs for axis in grid.axes]
        operands = [self.indices.size(product(counts)), self.indices.size(grid.work)]
        b = self.indices.at(0)
        attributes = {
            "num_warps": b.int_attribute(grid.warps),
            "num_stages": b.int_attribute(grid.stages),
        }
        op = b.create("tile.grid", [], operands, attributes, regions=1)
        block = op.regions[0].blocks.append(self.builder.index)
        self.stack.push(op, block)
        self._bind_programs(block.arguments[0])
        sums = self._nest(list(grid.loops), self._zeros())
        with self._space(_RESULTS):
            for each, value in zip(grid.products, sums, strict=True):
                self.stack.top.values[each.sum.number] = self._finished(each, value)
            self._store_all()
        self.stack.pop()

    @contextmanager
    def _space(self, name: str) -> Iterator[None]:
        """Has blocks lie in a space, and values found that were computed in it."""
        before = [frame.values for frame in self.stack.frames]
        self.indices.blocks = self.spaces[name]
        for frame in self.stack.frames:
            frame.values = self._known_in(name, frame)
        yield
        for frame, values in zip(self.stack.frames, before, strict=True):
            frame.values = values

    def _known_in(self, space: str, frame: Frame) -> dict:
        found = self._known.get((space, id(frame)))
        if found is None:
            # With the frame, so that no other one gets its id.
            found = self._known[space, id(frame)] = (frame, {})
        return found[1]

    # Programs ---------------------------------------------------------------------

    def _bind_programs(self, number: ir.Value) -> None:
        """Takes the program's number apart: the block of results varies fastest."""
        *outside, rows, columns = self.grid.axes
        tiles = self.indices.size(rows.programs * columns.programs)
        tile = number
        if outside:
            tile = self._op("remui", number, tiles)
            number = self._op("divui", number, tiles)
        for place, axis in reversed(list(enumerate(outside))):
            own = number
            if place:
                count = self.indices.size(axis.programs)
                own = self._op("remui", number, count)
                number = self._op("divui", number, count)
            self._bind_outside(axis, own)
        row, column = self._place_of(tile, rows.programs, columns.programs)
        self._bind_block(0, (_A, _RESULTS), row)
        self._bind_block(1, (_B, _RESULTS), column)

    def _op(self, name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        b = self.indices.at(self.stack.depth)
        return b.op(f"arith.{name}", b.index, lhs, rhs)

    def _bind_outside(self, axis: Axis, number: ir.Value) -> None:
        frame = self.stack.top
        if axis.number is None:
            frame.coordinates[axis.coordinate] = number
            return
        frame.coordinates[axis.number] = number
        chunk = self.indices.size(axis.chunk)
        low = self._op("muli", number, chunk)
        end = self.indices.size(axis.coordinate.size)
        self.part = low, self._op("minsi", self._op("addi", low, chunk), end)

    def _place_of(
        self, tile: ir.Value, rows: Size, columns: Size
    ) -> tuple[ir.Value, ir.Value]:
        """The row and column of a block: down a group of rows, then the next column.

        Programs that run at the same time then read few rows of a and columns of b.
        """
        if is_constant(rows, 1):
            return self.indices.size(0), tile
        if is_constant(columns, 1):
            return tile, self.indices.size(0)
        group = self.grid.group
        in_group = self.indices.size(columns * group)
        first = self._op(
            "muli", self._op("divui", tile, in_group), self.indices.size(group)
        )
        height = self.indices.size(group)
        if not is_whole(rows, group):
            left = self._op("subi", self.indices.size(rows), first)
            height = self._op("minsi", left, height)
        place = self._op("remui", tile, in_group)
        row = self._op("addi", first, self._op("remui", place, height))
        return row, self._op("divui", place, height)

    def _bind_block(self, dim: int, names: tuple[str, str], number: ir.Value) -> None:
        block = self.grid.blocks[dim]
        start = self._op("muli", number, self.indices.size(block.size))
        size = block.coordinate.size
        end = None if is_whole(size, block.size) else size
        for name in names:
            with self._space(name):
                self.indices.bind(block.coordinate, start, end)

    # The sum ----------------------------------------------------------------------

    def _zeros(self) -> list[ir.Value]:
        sizes = tuple(block.size for block in self.grid.blocks)
        b = self.indices.at(self.stack.depth, sizes)
        return [b.constant(0.0, F32.name) for _ in self.grid.products]

    def _nest(self, loops: list[Coordinate], carried: list[ir.Value]) -> list[ir.Value]:
        """Loops over the summands; the innermost goes block by block."""
        if not loops:
            return self._loop(self.grid.depth.coordinate, carried, True, self._step)
        inner = loops[1:]
        return self._loop(
            loops[0], carried, False, lambda sums: self._nest(inner, sums)
        )

    def _loop(self, along: Coordinate, inits, is_block: bool, body) -> list[ir.Value]:
        bounds = [self.indices.size(0), self.indices.size(along.size)]
        if self.part is not None and is_block:
            bounds = list(self.part)
        types = [value.type for value in inits]
        b = self.indices.at(self.stack.depth)
        arguments, attributes, name = [b.index], None, "scf.for"
        if is_block:
            width = self.grid.depth.size
            attributes = {"width": b.int_attribute(width), "unroll": b.int_attribute(1)}
            arguments.append(b.type("i1", (width,)))
            name = "tile.loop"
        else:
            bounds.append(self.indices.size(1))
        b = self.indices.at(self.stack.depth)
        op = b.create(name, types, [*bounds, *inits], attributes, regions=1)
        block = op.regions[0].blocks.append(*arguments, *types)
        frame = self.stack.push(op, block)
        frame.coordinates[along] = block.arguments[0]
        if is_block:
            self._bind_mask(along, block.arguments[1])
        results = body(list(block.arguments)[len(arguments) :])
        ending = "tile.yield" if is_block else "scf.yield"
        self.indices.at(self.stack.depth).create(ending, [], results)
        self.stack.pop()
        return list(op.results)

    def _bind_mask(self, along: Coordinate, mask: ir.Value) -> None:
        if self._is_ragged():
            for name in (_A, _B):
                with self._space(name):
                    self.indices.bind_mask(along, mask)

    def _is_ragged(self) -> bool:
        """True where the last step of a loop has fewer summands than the others."""
        depth = self.grid.depth
        return not is_whole(depth.coordinate.size, depth.size)

    def _step(self, sums: list[ir.Value]) -> list[ir.Value]:
        """One block of summands more."""
        results = []
        for each, value in zip(self.grid.products, sums, strict=True):
            a, b = (self._operand(each.a, _A), self._operand(each.b, _B))
            self.builder.location = each.sum.location
            at = self.indices.at(self.stack.depth)
            results.append(at.op("tile.dot", value.type, a, b, value))
        return results

    def _operand(self, node: Node, space: str) -> ir.Value:
        """A block of an operand as it lies in memory; zero beyond the last summand."""
        rows, depth = self.grid.blocks[0].coordinate, self.grid.depth.coordinate
        is_vector = space == _A and is_constant(rows.size, 1)
        with self._space(space):
            shape = tuple(block.size for block in self.spaces[space])
            if isinstance(node, LoadNode) and is_vector:
                # Rows but the first are masked; a broadcast would not be pipelined.
                value = self.values.loaded(node, shape)
            else:
                value = self.values.of_shape(node, shape)
            if not isinstance(node, LoadNode):
                along = [rows] * is_vector + [depth] * self._is_ragged()
                for coordinate in along:
                    value = self._zeroed(value, node.element, coordinate)
            b = self.indices.at(self.stack.depth, shape)
            return _in_memory(b, value, node.element)

    def _zeroed(self, value: ir.Value, element: Element, along: Coordinate) -> ir.Value:
        """A block with zeros outside of a dim's coordinate."""
        shape = tuple(ir.VectorType(value.type).shape)
        mask = self.indices.dim_mask(along)
        b = self.indices.at(self.stack.depth, shape)
        inside = self.indices.shaped(mask, self.indices.dim_of(along), shape)
        if inside.type != b.type("i1"):
            inside = b.op("vector.broadcast", "i1", inside)
        return b.select(inside, value, b.constant(0.0, element.register_name))

    # Results ----------------------------------------------------------------------

    def _finished(self, each: Product, value: ir.Value) -> ir.Value:
        """A block of sums, of the shape that they vary over: one row of a vector's."""
        sizes = tuple(block.size for block in self.grid.blocks)
        shape = self.indices.shape(each.sum.coordinates)
        if shape == sizes:
            return value
        # All rows but the first are zero: their operand was masked.
        b = self.indices.at(self.stack.depth, sizes[1:])
        row = b.op(
            "vector.multi_reduction",
            F32.name,
            value,
            b.constant(0.0, F32.name),
            kind=b.parsed("#vector.kind<add>"),
            reduction_dims=b.parsed("array<i64: 0>"),
        )
        return b.op("vector.shape_cast", b.type(F32.name, shape), row)

    def _store_all(self) -> None:
        """Stores results; all are computed first, as they may overwrite operands."""
        for store in self.grid.stores:
            self.values.value(store.node)
        for store in self.grid.stores:
            self.builder.location = store.location
            self.values.store(store.buffer, store.offset, store.node)


def _in_memory(b: Builder, value: ir.Value, element: Element) -> ir.Value:
    """A value in the type of its element; what was widened for it is not again."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == "arith.extf":
        source = owner.operands[0]
        if str(ir.VectorType(source.type).element_type) == element.memory_name:
            return source
    return narrowed(b, value, element)
