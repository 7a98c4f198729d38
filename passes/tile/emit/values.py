"""Nodes as values: each is computed once, in the outermost frame that can."""

from collections.abc import Sequence

from girih.dialects.bindings import ir
from girih.passes.tile.elements import I64, Element
from girih.passes.tile.emit.builder import Builder, Width
from girih.passes.tile.emit.cast import cast
from girih.passes.tile.emit.float8 import encoded
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.indices import Indices, Located
from girih.passes.tile.emit.precision import narrowed, widened
from girih.passes.tile.emit.rules import emit_elementwise
from girih.passes.tile.index import Affine
from girih.passes.tile.nodes import (
    CheckedIndexNode,
    ComputeNode,
    ConstantNode,
    Guard,
    Guards,
    IndexNode,
    LoadNode,
    Node,
    SelectNode,
    sources_of,
)
from girih.passes.tile.sizes import is_constant


class Values:
    """Computes nodes on demand.

    Attributes:
        buffers: by number, the value and the element type of each buffer.
        substitutes: nodes that stand for others, by the number of the other.
    """

    def __init__(
        self,
        builder: Builder,
        stack: FrameStack,
        indices: Indices,
        buffers: dict[int, tuple[ir.Value, Element]],
    ) -> None:
        self.builder = builder
        self.stack = stack
        self.indices = indices
        self.buffers = buffers
        self.substitutes: dict[int, Node] = {}
        indices.node_value = self.located

    def value(self, node: Node) -> ir.Value:
        """The node's value: a vector if it varies over the lanes, else a scalar."""
        return self.located(node)[0]

    def lanes(self, node: Node) -> ir.Value:
        """The node's value as a vector, whether it varies over the lanes or not."""
        return self._widened_to(node, self.indices.lane_width)

    def located(self, node: Node) -> Located:
        """The node's value and the number of the frame that it is in."""
        found = self._find(node)
        if found is None:
            for needed in self._missing(node):
                found = self._find(needed) or self._compute(needed)
        return found

    def _standing_for(self, node: Node) -> Node:
        return self.substitutes.get(node.number, node)

    def _find(self, node: Node) -> Located | None:
        return self.stack.find(self._standing_for(node).number)

    def _missing(self, node: Node) -> list[Node]:
        """What must be computed for the node, operands first, the node last."""
        order: list[Node] = []
        seen: set[int] = set()
        pending = [(self._standing_for(node), False)]
        while pending:
            current, is_ready = pending.pop()
            if is_ready:
                order.append(current)
            elif current.number not in seen and self._find(current) is None:
                seen.add(current.number)
                pending.append((current, True))
                sources = map(self._standing_for, sources_of(current))
                pending += [(source, False) for source in sources]
        return order

    def _compute(self, node: Node) -> Located:
        depths = [self.stack.depth_of(c) for c in node.coordinates]
        depths += [self.located(source)[1] for source in sources_of(node)]
        depth = max(depths, default=0)
        width = self._width_of(node)
        if node.location is not None:
            self.builder.location = node.location
        value = getattr(self, _EMITTERS[type(node)])(node, depth, width)
        self.stack.frames[depth].values[node.number] = value
        return value, depth

    def _width_of(self, node: Node) -> Width:
        """Lanes of the node's value; 0 for a scalar."""
        return self.indices.lane_width if self._is_vector(node) else 0

    def _is_vector(self, node: Node) -> bool:
        return self.indices.lanes in node.coordinates

    def _widened_to(self, node: Node, width: int) -> ir.Value:
        """The node's value with this many lanes; 0 means a scalar."""
        value, depth = self.located(node)
        if not width or self._is_vector(self._standing_for(node)):
            return value
        key = ("lanes", self._standing_for(node).number, width)
        found = self.stack.find(key)
        if found is not None:
            return found[0]
        name = node.element.register_name
        vector = self.indices.at(depth, width).splat(value, name)
        self.stack.frames[depth].values[key] = vector
        return vector

    # One method for each class of nodes -------------------------------------------

    def _constant(self, node: ConstantNode, depth: int, width: int) -> ir.Value:
        builder = self.indices.at(0)
        if node.element.is_float8:
            return encoded(builder, builder.constant(node.value, "f32"), node.element)
        return builder.scalar_constant(node.value, node.element.register_name)

    def _index(self, node: IndexNode, depth: int, width: int) -> ir.Value:
        if width:
            value = self.indices.per_lane(node.expression)
        else:
            index = self.indices.scalar(node.expression)
            value = self.indices.at(depth).op("arith.index_cast", "i64", index)
        return cast(self.indices.at(depth, width), value, I64, node.element)

    def _elementwise(self, node: ComputeNode, depth: int, width: int) -> ir.Value:
        values = [self._widened_to(operand, width) for operand in node.operands]
        builder = self.indices.at(depth, width)
        builder.mask = self._mask(width)
        return emit_elementwise(builder, node, values)

    def _select(self, node: SelectNode, depth: int, width: int) -> ir.Value:
        then, otherwise = (self._widened_to(o, width) for o in node.operands)
        inside = self._condition(node.guards, depth, width)
        return self.indices.at(depth, width).select(inside, then, otherwise)

    def _checked(self, node: CheckedIndexNode, depth: int, width: int) -> ir.Value:
        source = node.operands[0]
        index = self._widened_to(source, width)
        inside = self._condition(node.guards, depth, width) if node.guards else None
        limit_index = self.indices.size(node.size)
        limit = self.indices.at(0).op("arith.index_cast", "i64", limit_index)
        b = self.indices.at(depth, width)
        index = cast(b, index, source.element, I64)
        limit, zero = b.splat(limit, "i64"), b.constant(0, "i64")
        if node.from_end:
            from_end = b.same("arith.addi", index, limit)
            index = b.select(b.compare_ints("slt", index, zero), from_end, index)
        is_valid = b.compare_ints("ult", index, limit)
        b.mask = self._combined(inside, self._mask(width), depth)
        b.check(is_valid)
        return b.select(is_valid, index, zero)

    def _load(self, node: LoadNode, depth: int, width: int) -> ir.Value:
        buffer, element = self.buffers[node.buffer]
        shared, step, irregular = self.indices.split(node.offset)
        mask = self._load_mask(node, depth, width)
        if width and irregular.terms:
            offsets = self.indices.per_lane(node.offset)
            value = self.indices.at(depth, width).gather(buffer, offsets, mask, element)
        else:
            place = self._place(shared, step, width)
            value = self.indices.at(depth, width).load(buffer, *place, mask, element)
        return widened(self.indices.at(depth, width), value, element)

    def _load_mask(self, node: LoadNode, depth: int, width: int) -> ir.Value | None:
        if node.guards:
            inside = self._condition(node.guards, depth, width)
            return self._combined(inside, self._mask(width), depth)
        return self._mask(width)

    def _place(
        self, shared: Affine, step, width: int
    ) -> tuple[ir.Value, ir.Value | None]:
        """The offset of lane 0, and the stride of the lanes."""
        if not width:
            return self.indices.scalar(shared), None
        first = Affine(((self.indices.lanes, step),), 0)
        offset = shared if is_constant(step, 0) else shared + first
        return self.indices.scalar(offset), self.indices.size(step)

    # Masks ----------------------------------------------------------------------

    def _mask(self, width: Width) -> ir.Value | None:
        """The mask of the open loop over the lanes; None for scalars."""
        if not width:
            return None
        depth = self.stack.depth_of(self.indices.lanes)
        return self.stack.frames[depth].mask

    def _condition(self, guards: Guards, depth: int, width: int) -> ir.Value:
        """True where all guards hold."""
        key = ("guards", guards, width)
        # What an inner frame holds is out of reach for a value of an outer one.
        found = self.stack.find(key, depth)
        if found is not None:
            return found[0]
        condition = None
        for guard in guards:
            holds = self._holds(guard, depth, width)
            condition = self._combined(condition, holds, depth, width)
        self.stack.frames[depth].values[key] = condition
        return condition

    def _holds(self, guard: Guard, depth: int, width: int) -> ir.Value:
        if width and self.indices.varies(guard.expression):
            index = self.indices.per_lane(guard.expression)
            per_lane = self.indices.size_per_lane
            limits = [per_lane(guard.low), per_lane(guard.high)]
            b = self.indices.at(depth, width)
        else:
            index = self.indices.scalar(guard.expression)
            limits = [self.indices.size(size) for size in (guard.low, guard.high)]
            b = self.indices.at(depth)
        holds = self._between(b, index, limits, is_constant(guard.low, 0))
        if b.width == width:
            return holds
        return self.indices.at(depth, width).splat(holds, "i1")

    @staticmethod
    def _between(
        b: Builder, index: ir.Value, limits: Sequence[ir.Value], from_zero: bool
    ) -> ir.Value:
        low, high = limits
        if from_zero:
            # As unsigned, a negative index is a large one.
            return b.compare_ints("ult", index, high)
        above = b.compare_ints("sge", index, low)
        return b.same("arith.andi", above, b.compare_ints("slt", index, high))

    def _combined(
        self, lhs: ir.Value | None, rhs: ir.Value | None, depth=None, width=None
    ) -> ir.Value | None:
        """Both conditions; None stands for one that always holds."""
        if lhs is None or rhs is None:
            return rhs if lhs is None else lhs
        b = self.builder if depth is None else self.indices.at(depth, width or 0)
        return b.same("arith.andi", lhs, rhs)

    # Stores ---------------------------------------------------------------------

    def store(self, buffer_number: int, offset: Affine, node: Node) -> None:
        """Stores a node's value where the innermost frame stands."""
        buffer, element = self.buffers[buffer_number]
        depth = self.stack.depth
        shared, step, irregular = self.indices.split(offset)
        assert not irregular.terms, f"girih bug: a store at {offset}"
        is_vector = not is_constant(step, 0)
        width = self.indices.lane_width if is_vector else 0
        value = self._widened_to(node, width)
        is_one = is_vector or not self._is_vector(self._standing_for(node))
        assert is_one, f"girih bug: all lanes are stored at {offset}"
        place = self._place(shared, step, width)
        mask = self._mask(width)
        b = self.indices.at(depth, width)
        b.store(narrowed(b, value, element), buffer, *place, mask)

    def put(self, buffer_number: int, offset: Affine, value: ir.Value) -> None:
        """Stores a vector, as wide as the open loop, along the lanes."""
        buffer, element = self.buffers[buffer_number]
        shared, step, _ = self.indices.split(offset)
        width = self.indices.lane_width
        place = self._place(shared, step, width)
        b = self.indices.at(self.stack.depth, width)
        b.store(narrowed(b, value, element), buffer, *place, self._mask(width))

    def store_in_turn(
        self, buffer_number: int, offset: Affine, nodes: Sequence[Node]
    ) -> None:
        """Stores lane 0 of all nodes' values, from ``offset`` on, then lane 1."""
        buffer, element = self.buffers[buffer_number]
        shared, step, irregular = self.indices.split(offset)
        assert not irregular.terms, f"girih bug: a store at {offset}"
        width = self.indices.lane_width
        values = [self._widened_to(node, width) for node in nodes]
        one, mask = self.indices.size(1), self._mask(width)
        b = self.indices.at(self.stack.depth, width)
        values = [narrowed(b, value, element) for value in values]
        rows = b.in_turn(values, element.bytes)
        masks = [None] * len(rows)
        if mask is not None:
            masks = b.in_turn([mask] * len(values), element.bytes)
        for row, inside in zip(rows, masks, strict=True):
            place, _ = self._place(shared, step, width)
            self.indices.at(self.stack.depth, width)
            b.store(row, buffer, place, one, inside)
            shared = shared + row.type.shape[0]


# The method that computes each class of nodes; targets override some of them.
_EMITTERS = {
    ComputeNode: "_elementwise",
    ConstantNode: "_constant",
    IndexNode: "_index",
    LoadNode: "_load",
    SelectNode: "_select",
    CheckedIndexNode: "_checked",
}
