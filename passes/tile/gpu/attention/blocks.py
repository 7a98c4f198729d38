"""Blocks of values: loads, stores, products, and what happens along rows."""

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.tile.access.evaluator import Coordinates
from girih.passes.tile.emit.builder import Builder, Width
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.precision import narrowed
from girih.passes.tile.gpu.attention.policy import padded
from girih.passes.tile.gpu.attention.source import AttentionSource
from girih.passes.tile.gpu.indices import BlockIndices
from girih.passes.tile.gpu.values import BlockValues
from girih.passes.tile.index import Affine, Coordinate, constant
from girih.passes.tile.kernel import Buffer
from girih.passes.tile.nodes import Node

Value = ir.Value
LOWEST = float("-inf")


@dataclass(frozen=True)
class Blocks:
    """Makes blocks where the innermost frame stands.

    The score function's values have two dims: those of ``indices.blocks``.
    """

    source: AttentionSource
    stack: FrameStack
    indices: BlockIndices
    values: BlockValues

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of a block of scores."""
        return tuple(block.size for block in self.indices.blocks)

    def at(self, shape: Width = 0) -> Builder:
        """The builder, set to make values of a shape in the innermost frame."""
        return self.indices.at(self.stack.depth, shape)

    # Memory -----------------------------------------------------------------------

    def load(self, name: str, place: Coordinates, rows: Coordinate) -> Value:
        """The rows of an input where its dim of the block lies, heads padded with 0."""
        buffer = self.source.buffer(name)
        offset, strides, masks, shape = self._matrix(buffer, place, rows)
        b = self.at(shape)
        return b.load_block(buffer.value, offset, strides, masks, buffer.element)

    def store(
        self, name: str, value: Value, place: Coordinates, rows: Coordinate
    ) -> None:
        """Stores a block of f32 as rows of an output, if that is written."""
        number = self.source.outputs.get(name)
        if number is None:
            return
        buffer = self.source.kernel.buffers[number]
        offset, strides, masks, shape = self._matrix(buffer, place, rows)
        b = self.at(shape)
        value = narrowed(b, value, buffer.element)
        b.store_block(value, buffer.value, offset, strides, masks)

    def store_rows(
        self, name: str, value: Value, place: Coordinates, rows: Coordinate
    ) -> None:
        """Stores a number for each row of an output, if that is written."""
        number = self.source.outputs.get(name)
        if number is None:
            return
        buffer = self.source.kernel.buffers[number]
        offset = self.indices.scalar(_offset(buffer, place))
        mask = self.indices.dim_mask(rows)
        strides = [self.indices.size(buffer.strides[2])]
        b = self.at((self._size(rows),))
        masks = [] if mask is None else [mask]
        b.store_block(value, buffer.value, offset, strides, masks)

    def _matrix(self, buffer: Buffer, place: Coordinates, rows: Coordinate) -> tuple:
        """Where a block of rows lies: offset, strides, masks, and its shape."""
        width = buffer.shape[3]
        shape = (self._size(rows), padded(width))
        offset = self.indices.scalar(_offset(buffer, place))
        strides = [self.indices.size(stride) for stride in buffer.strides[2:]]
        masks = [self.indices.dim_mask(rows), self._width_mask(width)]
        if all(mask is None for mask in masks):
            masks = []
        filled = [
            self.at((size,)).constant(True, "i1") if mask is None else mask
            for mask, size in zip(masks, shape, strict=False)
        ]
        return offset, strides, filled, shape

    def _width_mask(self, width: int) -> Value | None:
        """The elements of a padded row that are a head's; None where all are."""
        size = padded(width)
        if size == width:
            return None
        key = ("width", width)
        found = self.stack.find(key)
        if found is None:
            limit = self.indices.size(width)
            b = self.indices.at(1, (size,))
            limit = b.op("vector.broadcast", "index", limit)
            mask = b.compare_ints("slt", b.op("vector.step", "index"), limit)
            self.stack.frames[1].values[key] = mask
            return mask
        return found[0]

    def _size(self, coordinate: Coordinate) -> int:
        blocks = self.indices.blocks
        return next(b.size for b in blocks if b.coordinate == coordinate)

    # Products ---------------------------------------------------------------------

    def zeros(self, shape: tuple[int, ...], number: float = 0.0) -> Value:
        """A block of f32 with one number everywhere."""
        return self.at(shape).constant(number, "f32")

    def product(self, lhs: Value, rhs: Value, added: Value | None = None) -> Value:
        """lhs @ rhs + added, in f32."""
        shape = (_shape(lhs)[0], _shape(rhs)[1])
        added = self.zeros(shape) if added is None else added
        return self.at(shape).op("tile.dot", "f32", lhs, rhs, added)

    def turned(self, matrix: Value) -> Value:
        """The transpose of a block."""
        rows, columns = _shape(matrix)
        b = self.at((columns, rows))
        name = str(ir.VectorType(matrix.type).element_type)
        order = b.parsed("array<i64: 1, 0>")
        return b.op("vector.transpose", name, matrix, permutation=order)

    def rounded(self, block: Value) -> Value:
        """A block of f32 in the type of the inputs."""
        return narrowed(
            self.at(_shape(block)), block, self.source.buffer("query").element
        )

    # Scores -----------------------------------------------------------------------

    def give(self, node: Node, value: Value) -> None:
        """Says what a node is where the innermost frame stands."""
        self.stack.top.values[node.number] = value

    def of(self, node: Node) -> Value:
        """A node's value at each pair of positions, as f32."""
        return self.values.of_shape(node, self.shape)

    def row(self, node: Node, factor: float = 1.0) -> Value:
        """A number for each row, times a factor, at each pair of positions."""
        return self._spread_row(self.scaled(self.values.value(node), factor))

    def reciprocal_row(self, node: Node) -> Value:
        """1 over a number for each row, at each pair of positions.

        A thread has dozens of rows: exact divisions, of which some call a function,
        would cost it the registers that blocks need.
        """
        value = self.values.value(node)
        b = self.at(_shape(value))
        flags = b.parsed("#arith.fastmath<arcp,afn>")
        one = b.constant(1.0, "f32")
        return self._spread_row(b.same("arith.divf", one, value, fastmath=flags))

    def _spread_row(self, value: Value) -> Value:
        if _shape(value) == self.shape:
            return value
        return self.at(self.shape).op("vector.broadcast", "f32", value)

    def inside(self, value: Value, along: tuple[Coordinate, ...], otherwise: float):
        """The value where coordinates are inside; another number elsewhere."""
        for coordinate in along:
            mask = self.indices.dim_mask(coordinate)
            if mask is not None:
                wide = self.spread(mask, coordinate, self.shape)
                b = self.at(self.shape)
                value = b.select(wide, value, b.constant(otherwise, "f32"))
        return value

    def forget_masks(self) -> None:
        """Forgets masks of blocks: another loop has others, or none."""
        for frame in self.stack.frames:
            known = [k for k in frame.values if isinstance(k, tuple) and k[0] == "mask"]
            for key in known:
                if isinstance(key[1], tuple):
                    del frame.values[key]

    # Rows -------------------------------------------------------------------------

    def spread(
        self, row: Value, along: Coordinate, shape: tuple[int, ...] | None = None
    ) -> Value:
        """A number for each place of a dim, in each place of a block."""
        shape = self.shape if shape is None else shape
        self.at(shape)
        return self.indices.shaped(row, self.indices.dim_of(along), shape)

    def over_columns(self, kind: str, block: Value, start: Value) -> Value:
        """Each row of a block reduced, together with a number for each row."""
        b = self.at(_shape(start))
        attributes = {
            "kind": b.parsed(f"#vector.kind<{kind}>"),
            "reduction_dims": b.parsed("array<i64: 1>"),
        }
        return b.op("vector.multi_reduction", start.type, block, start, **attributes)

    def powers(self, exponents: Value, unit: float) -> Value:
        """e to the power of exponents / unit, of which unit is 1 or log2(e)."""
        b = self.at(_shape(exponents))
        if unit == 1.0:
            return b.same("math.exp", exponents)
        approximate = b.parsed("#arith.fastmath<afn>")
        return b.same("math.exp2", exponents, fastmath=approximate)

    def scaled(self, value: Value, factor: float) -> Value:
        """A block times a number."""
        if factor == 1.0:
            return value
        b = self.at(_shape(value))
        return b.same("arith.mulf", value, b.constant(factor, "f32"))

    def quotient(self, x: Value, y: Value) -> Value:
        """x / y, off by up to 2 units in the last place of float32."""
        b = self.at(_shape(x))
        flags = b.parsed("#arith.fastmath<arcp>")
        return b.same("arith.divf", x, y, fastmath=flags)

    def same(self, name: str, *operands: Value) -> Value:
        """An elementwise op on blocks of one shape."""
        return self.at(_shape(operands[0])).same(name, *operands)


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(ir.VectorType(value.type).shape)


def _offset(buffer: Buffer, place: Coordinates) -> Affine:
    """The offset of the first element at a place in the first dims."""
    offset = constant(0)
    for coordinate, stride in zip(place, buffer.strides, strict=False):
        offset = offset + coordinate * stride
    return offset
