"""Nodes as values over blocks: scalars, or vectors of one or two dims."""

from girih.dialects.bindings import ir
from girih.passes.tile.elements import Element
from girih.passes.tile.emit.builder import Width
from girih.passes.tile.emit.precision import narrowed, rounded, widened
from girih.passes.tile.emit.values import Values
from girih.passes.tile.gpu.indices import BlockIndices
from girih.passes.tile.gpu.plan import Peeling
from girih.passes.tile.index import Affine, coordinates_of
from girih.passes.tile.nodes import ComputeNode, Guard, Guards, LoadNode, Node
from girih.passes.tile.sizes import is_constant

# What computes 16-bit results with approximations of the device. Programs count on
# x / x being 1, and on roots of squares, so quotients and roots are rounded to 16 bits
# then, as eager rounds them.
_EXACT = {"arith.divf": "arcp", "math.sqrt": "afn"}
_ROUGH = {"arith.divf": "arcp,afn", "math.exp": "afn", "math.sqrt": "afn"}
APPROXIMATED = {
    "div": _EXACT,
    "rsqrt": _ROUGH,
    "sigmoid": _ROUGH,
    "sqrt": _EXACT,
    "tanh": {"math.tanh": "afn"},
}
_ELEMENTS = frozenset({"bf16", "f16"})
Masks = list[ir.Value | None]


class BlockValues(Values):
    """Computes nodes on demand, each of the shape that it varies over.

    Attributes:
        peeling: in the blocks of a peeled loop that are aligned, how it is peeled.
    """

    indices: BlockIndices
    peeling: Peeling | None = None

    def of_shape(self, node: Node, shape: Width) -> ir.Value:
        """The node's value at each point of a block; 0 means a scalar."""
        return self._widened_to(node, shape)

    def loaded(self, node: LoadNode, shape: tuple[int, ...]) -> ir.Value:
        """A load at each point of a block, also along dims where it is the same."""
        return self._load(node, self.stack.depth, shape)

    def _width_of(self, node: Node) -> Width:
        return self.indices.shape(node.coordinates)

    def _widened_to(self, node: Node, width: Width) -> ir.Value:
        value, depth = self.located(node)
        standing = self._standing_for(node)
        if not width or self._width_of(standing) == width:
            return value
        key = ("widened", standing.number, width)
        found = self.stack.find(key)
        if found is None:
            b = self.indices.at(depth, width)
            value = b.op("vector.broadcast", node.element.register_name, value)
            self.stack.frames[depth].values[key] = value
            return value
        return found[0]

    def _elementwise(self, node: ComputeNode, depth: int, width: Width) -> ir.Value:
        """Approximations, of a relative error of 2**-20, do for 16 bits.

        That of tanh has 2**-11, which is enough for bfloat16 only.
        """
        element = node.element
        flags = APPROXIMATED.get(node.name) if element.name in _ELEMENTS else None
        if flags is None or (node.name == "tanh" and element.name != "bf16"):
            return super()._elementwise(node, depth, width)
        self.builder.approximated = flags
        value = super()._elementwise(node, depth, width)
        self.builder.approximated = {}
        if flags is not _EXACT:
            return value
        return rounded(self.indices.at(depth, width), value, element)

    def _mask(self, width: Width) -> ir.Value | None:
        return self.indices.mask(width)

    # Guards -----------------------------------------------------------------------

    def _holds(self, guard: Guard, depth: int, width: Width) -> ir.Value:
        own = self.indices.shape(coordinates_of(guard.expression))
        holds = self._holds_in_own_shape(guard, depth, own)
        if own == width:
            return holds
        return self.indices.at(depth, width).op("vector.broadcast", "i1", holds)

    def _holds_in_own_shape(self, guard: Guard, depth: int, own: Width) -> ir.Value:
        if own:
            index = self.indices.located_block(guard.expression)[0]
        else:
            index = self.indices.scalar(guard.expression)
        return self._holds_at(guard, depth, index, own)

    def _holds_at(
        self, guard: Guard, depth: int, index: ir.Value, shape: Width
    ) -> ir.Value:
        """Whether an index of this shape is inside of the guard's limits."""
        limits = [self.indices.size(size) for size in (guard.low, guard.high)]
        b = self.indices.at(depth, shape)
        if shape:
            limits = [b.op("vector.broadcast", "index", limit) for limit in limits]
        return self._between(b, index, limits, is_constant(guard.low, 0))

    def _is_separable(self, guards: Guards) -> bool:
        """True where each guard varies along at most one dim of the block."""
        shapes = [self.indices.shape(coordinates_of(g.expression)) for g in guards]
        return all(sum(size > 1 for size in shape or ()) <= 1 for shape in shapes)

    def _dim_masks(self, guards: Guards, depth: int, shape: tuple) -> list[ir.Value]:
        """One mask for each dim of an access, or none where all points are inside."""
        masks: Masks = [
            self.indices.dim_mask(block.coordinate) if size > 1 else None
            for block, size in zip(self.indices.blocks, shape, strict=True)
        ]
        for guard in guards:
            dim, holds = self._holds_along_dim(guard, depth, shape)
            masks[dim] = self._combined(masks[dim], holds, depth)
        return self._completed(masks, shape)

    def _holds_along_dim(
        self, guard: Guard, depth: int, shape: tuple
    ) -> tuple[int, ir.Value]:
        """The dim along which a guard varies (the last one if none), and its mask."""
        own = self.indices.shape(coordinates_of(guard.expression))
        dim = [d for d, size in enumerate(own or shape) if size > 1][-1]
        index = self.indices.linear_along(guard.expression, dim) if own else None
        if index is not None:
            return dim, self._holds_at(guard, depth, index, (shape[dim],))
        holds = self._holds_in_own_shape(guard, depth, own)
        b = self.indices.at(depth, (shape[dim],))
        name = "vector.shape_cast" if own else "vector.broadcast"
        if not own or len(own) > 1:
            holds = b.op(name, "i1", holds)
        return dim, holds

    def _completed(self, masks: Masks, shape: tuple) -> list[ir.Value]:
        if all(mask is None for mask in masks):
            return []
        return [
            self.indices.at(0, (size,)).constant(True, "i1") if mask is None else mask
            for mask, size in zip(masks, shape, strict=True)
        ]

    # Memory -----------------------------------------------------------------------

    def _load(self, node: LoadNode, depth: int, width: Width) -> ir.Value:
        if not width:
            return self._load_scalar(node, depth)
        buffer, element = self.buffers[node.buffer]
        _, _, irregular = self.indices.split_block(node.offset)
        if irregular.terms or not self._is_separable(node.guards):
            value = self._gathered(node, buffer, element, depth, width)
        else:
            offset, strides = self._block_place(node.offset)
            masks = self._dim_masks(node.guards, depth, width)
            b = self.indices.at(depth, width)
            value = b.load_block(buffer, offset, strides, masks, element)
        return widened(self.indices.at(depth, width), value, element)

    def _load_scalar(self, node: LoadNode, depth: int) -> ir.Value:
        buffer, element = self.buffers[node.buffer]
        inside = self._condition(node.guards, depth, 0) if node.guards else None
        offset = self.indices.scalar(node.offset)
        b = self.indices.at(depth)
        value = b.load(buffer, offset, None, inside, element)
        return widened(self.indices.at(depth), value, element)

    def _block_place(self, offset: Affine) -> tuple[ir.Value, list[ir.Value]]:
        """The offset of the block's first point, and the strides of its dims."""
        _, steps, _ = self.indices.split_block(offset)
        strides = [self.indices.size(step) for step in steps]
        place = self.indices.scalar(offset)
        if self.peeling is not None and self.peeling.is_aligned(offset):
            place = self._rounded_down(place)
        return place, strides

    def _rounded_down(self, place: ir.Value) -> ir.Value:
        """A multiple of the unit, written so that whoever reads it can see that."""
        unit = self.indices.size(self.peeling.unit)
        b = self.indices.at(self.stack.depth)
        whole = b.op("arith.divui", b.index, place, unit)
        return b.same("arith.muli", whole, unit)

    def _gathered(
        self,
        node: LoadNode,
        buffer: ir.Value,
        element: Element,
        depth: int,
        shape: tuple[int, ...],
    ) -> ir.Value:
        """A load at an offset for each point."""
        inside = self._condition(node.guards, depth, shape) if node.guards else None
        mask = self._combined(inside, self._mask(shape), depth)
        offsets = self._offsets(node.offset, depth, shape)
        if len(shape) == 1:
            return self.indices.at(depth, shape).gather(buffer, offsets, mask, element)
        count = 1
        for size in shape:
            count *= size
        b = self.indices.at(depth, (count,))
        offsets = b.op("vector.shape_cast", "i64", offsets)
        mask = None if mask is None else b.op("vector.shape_cast", "i1", mask)
        value = b.gather(buffer, offsets, mask, element)
        b = self.indices.at(depth, shape)
        return b.op("vector.shape_cast", element.memory_name, value)

    def _offsets(self, offset: Affine, depth: int, shape: tuple[int, ...]) -> ir.Value:
        own = self.indices.shape(coordinates_of(offset))
        if not own:
            index = self.indices.scalar(offset)
            offsets = self.indices.at(depth).op("arith.index_cast", "i64", index)
        else:
            offsets = self.indices.per_lane(offset)
        if own == shape:
            return offsets
        return self.indices.at(depth, shape).op("vector.broadcast", "i64", offsets)

    # Stores -----------------------------------------------------------------------

    def store(self, buffer_number: int, offset: Affine, node: Node) -> None:
        """Stores a node's value where the innermost frame stands."""
        buffer, element = self.buffers[buffer_number]
        depth = self.stack.depth
        standing = self._standing_for(node)
        shape = self.indices.shape(standing.coordinates | coordinates_of(offset))
        value = self._widened_to(node, shape)
        if not shape:
            place = self.indices.scalar(offset)
            b = self.indices.at(depth)
            b.store(narrowed(b, value, element), buffer, place, None, None)
            return
        _, _, irregular = self.indices.split_block(offset)
        assert not irregular.terms, f"girih bug: a store at {offset}"
        place, strides = self._block_place(offset)
        masks = self._dim_masks((), depth, shape)
        b = self.indices.at(depth, shape)
        value = narrowed(b, value, element)
        b.store_block(value, buffer, place, strides, masks)

    def accumulate(self, buffer_number: int, offset: Affine, node: Node) -> None:
        """Adds a node's value to what lies at an offset, once at each point."""
        buffer, element = self.buffers[buffer_number]
        depth = self.stack.depth
        shape = tuple(block.size for block in self.indices.blocks) or (1,)
        own = shape if any(size > 1 for size in shape) else 0
        value, offsets = self._widened_to(node, own), self._offsets(offset, depth, own)
        mask = self._mask(own)
        b = self.indices.at(depth, shape)
        if not own:
            value = b.op("vector.broadcast", element.register_name, value)
            offsets = b.op("vector.broadcast", "i64", offsets)
        elif offsets.type.shape != list(shape):
            offsets = b.op("vector.broadcast", "i64", offsets)
        b.update(narrowed(b, value, element), buffer, offsets, mask)
