"""Reductions over blocks: accumulators of lanes, and what becomes of them.

In a loop along rows the lanes may be grouped: neighbouring elements, which lie in one
thread, are combined first, and each group has one accumulator. That takes fewer
instructions and registers than an accumulator for each element of the block.
"""

from girih.dialects.bindings import ir
from girih.dialects.graph.folds import ADD, Join, Start
from girih.passes.tile.elements import Element
from girih.passes.tile.emit import reduction
from girih.passes.tile.emit.builder import Builder, Width
from girih.passes.tile.emit.fold import FoldFunctions, kind_of, start_of
from girih.passes.tile.emit.formula import Lanes
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.precision import decided_on
from girih.passes.tile.gpu.indices import BlockIndices
from girih.passes.tile.gpu.plan import BlockGrid
from girih.passes.tile.gpu.values import BlockValues
from girih.passes.tile.index import Coordinate, coordinates_of
from girih.passes.tile.nodes import ReduceNode


class BlockReductions:
    """Emits the reductions of one grid."""

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
        self.blocks = {block.coordinate: block for block in grid.blocks}

    # Shapes -----------------------------------------------------------------------

    def _shape(self, node: ReduceNode) -> tuple[int, ...]:
        """The shape of a reduction's elements: all reduced dims are in it."""
        along = node.operands[0].coordinates | self._reduced(node)
        return self.indices.shape(along)

    def _reduced(self, node: ReduceNode) -> frozenset[Coordinate]:
        """The coordinates that a reduction runs over."""
        return frozenset(self.grid.closing if node.is_closing else self.grid.reduced)

    def _accumulator_shape(self, node: ReduceNode) -> Width:
        shape = self._shape(node)
        return (shape[0] // self.grid.group,) if self.grid.group > 1 else shape

    # A walk -----------------------------------------------------------------------

    def initial(self, node: ReduceNode) -> list[ir.Value]:
        """The accumulator before the first element."""
        b = self.indices.at(self.stack.depth, self._accumulator_shape(node))
        return reduction.initial(b, node)

    def alone(self, node: ReduceNode) -> list[ir.Value]:
        """The accumulator where the block holds all elements of its results."""
        if not node.fold.is_element:
            return self.take_in(node, self.initial(node))
        return self._selected(node, self._elements(node), self.initial(node))

    def take_in(self, node: ReduceNode, accumulator: list[ir.Value]) -> list[ir.Value]:
        """The accumulator with the elements where the loops stand."""
        value, *position = self._elements(node)
        self.builder.location = node.location
        if self.grid.group > 1:
            return self._take_in_groups(node, accumulator, value)
        b = self.indices.at(self.stack.depth, self._shape(node))
        results = reduction.combine(b, node, accumulator, value, *position)
        return self._selected(node, results, accumulator)

    def _take_in_groups(
        self, node: ReduceNode, accumulator: list[ir.Value], value: ir.Value
    ) -> list[ir.Value]:
        """The accumulators of groups; elements outside change nothing."""
        element, group = node.operands[0].element, self.grid.group
        mask = self.indices.mask(self._shape(node))
        shape, name = (self._shape(node)[0] // group, group), element.register_name
        b = self.indices.at(self.stack.depth, shape)
        value = b.op("vector.shape_cast", name, value)
        mask = None if mask is None else b.op("vector.shape_cast", "i1", mask)
        f = GroupFunctions(b, node, shape, mask)
        values = [f.value(each) for each in (*accumulator, value)]
        return [each.value for each in node.fold.take_group(f, *values)]

    def _elements(self, node: ReduceNode) -> list[ir.Value]:
        """The elements where the loops stand, and their positions if needed."""
        shape = self._shape(node)
        value = self.values.of_shape(node.operands[0], shape)
        b = self.indices.at(self.stack.depth, shape)
        elements = [*decided_on(b, node, [value])]
        if node.position is not None:
            position = self._position(node, shape)
            b = self.indices.at(self.stack.depth, shape)
            elements.append(reduction.narrowed(b, node, position))
        return elements

    def _selected(
        self, node: ReduceNode, results: list[ir.Value], otherwise: list[ir.Value]
    ) -> list[ir.Value]:
        """The results where reduced coordinates are inside, else the others."""
        shape = self._shape(node)
        inside = self._reduced(node) & frozenset(self.blocks)
        own = self.indices.shape(inside)
        mask = self.indices.mask(own) if own else None
        if mask is None:
            return results
        b = self.indices.at(self.stack.depth, shape)
        if own != shape:
            mask = b.op("vector.broadcast", "i1", mask)
        pairs = zip(results, otherwise, strict=True)
        return [b.select(mask, new, old) for new, old in pairs]

    def _position(self, node: ReduceNode, shape: Width) -> ir.Value:
        """The position along the reduced dim, as i64."""
        own = self.indices.shape(coordinates_of(node.position))
        if own:
            value = self.indices.per_lane(node.position)
        else:
            index = self.indices.scalar(node.position)
            b = self.indices.at(self.stack.depth)
            value = b.op("arith.index_cast", "i64", index)
        if own == shape:
            return value
        return self.indices.at(self.stack.depth, shape).op(
            "vector.broadcast", "i64", value
        )

    # Results ----------------------------------------------------------------------

    def finish(self, node: ReduceNode, accumulator: list[ir.Value]) -> None:
        """Makes the result known where the loops have ended."""
        shape = self._accumulator_shape(node)
        dims = [
            dim
            for dim, block in enumerate(self.grid.blocks)
            if block.coordinate in self._reduced(node)
        ]
        b = self.indices.at(self.stack.depth, shape)

        def across(b: Builder, join: Join, element: Element, value: ir.Value):
            return _reduced(b, join, element, value, (shape, dims)) if dims else value

        if dims:
            accumulator = reduction.across_lanes(b, node, accumulator, across)
        value = reduction.result(b, node, accumulator, across)
        self.stack.top.values[node.number] = value


class GroupFunctions(FoldFunctions):
    """The functions of formulas whose x is a block of groups.

    An accumulator has one value for each group.
    """

    def __init__(
        self,
        b: Builder,
        node: ReduceNode,
        shape: tuple[int, int],
        mask: ir.Value | None,
    ):
        """Starts.

        Args:
            b: Makes ops.
            node: The reduction.
            shape: How many groups, and how many elements in each.
            mask: The elements that there are; None for all.
        """
        element = node.operands[0].element
        super().__init__(b, element, is_rough=node.is_rough)
        self._shape = shape
        self._mask = mask

    def inside(self, x: Lanes, number: Start | float) -> Lanes:
        """The elements, with a number where there is none."""
        if self._mask is None:
            return x
        self._b.width = self._shape
        filling = self.number(start_of(number, self._type))
        return self._number(self._b.select(self._mask, x.value, filling.value))

    def over(self, join: Join, x: Lanes) -> Lanes:
        """The elements of each group as one."""
        along = (self._shape, 1)
        value = _without_dim(self._b, join, self._type, x.value, along)
        self._b.width = self._shape[:1]
        return self._number(value)

    def count(self) -> Lanes:
        """How many elements there are in each group."""
        if self._mask is None:
            self._b.width = self._shape[:1]
            return self.number(float(self._shape[1]))
        self._b.width = self._shape
        return self.over(ADD, self.inside(self.number(1.0), 0.0))

    def everywhere(self, x: Lanes, like: Lanes) -> Lanes:
        """A value of each group for each of its elements."""
        b = self._b
        b.width = self._shape
        type_ = b.type(self._element, (self._shape[0], 1))
        column = b.op("vector.shape_cast", type_, x.value)
        return self._number(b.op("vector.broadcast", self._element, column))


def _reduced(
    b: Builder,
    join: Join,
    element: Element,
    value: ir.Value,
    along: tuple[tuple, list[int]],
) -> ir.Value:
    """A block reduced along some dims, which keep size 1; a scalar if none is left."""
    shape, dims = along
    name = element.register_name
    left = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    if len(shape) == 2:
        value = _without_dim(b, join, element, value, (shape, dims[-1]))
        if any(size > 1 for size in left):
            return b.op("vector.shape_cast", b.type(name, left), value)
    kind = b.parsed(f"#vector.kind<{kind_of(join, element)}>")
    return b.op("vector.reduction", b.type(name, 0), value, kind=kind)


def _without_dim(
    b: Builder, join: Join, element: Element, value: ir.Value, along: tuple[tuple, int]
) -> ir.Value:
    """A block of two dims reduced along one of them."""
    shape, dim = along
    b.width = (shape[1 - dim],)
    start = b.constant(start_of(join.start, element), element.register_name)
    value = b.op(
        "vector.multi_reduction",
        start.type,
        value,
        start,
        kind=b.parsed(f"#vector.kind<{kind_of(join, element)}>"),
        reduction_dims=b.parsed(f"array<i64: {dim}>"),
    )
    b.width = shape
    return value
