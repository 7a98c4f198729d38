"""Reductions over blocks: accumulators of lanes, and what becomes of them.

In a loop along rows the lanes may be grouped: neighbouring elements, which lie in one
thread, are combined first, and each group has one accumulator. That takes fewer
instructions and registers than an accumulator for each element of the block.
"""

from girih.dialects.bindings import ir
from girih.passes.tile.emit import reduction
from girih.passes.tile.emit.builder import Builder, Width
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.precision import decided_on
from girih.passes.tile.gpu import accumulators
from girih.passes.tile.gpu.indices import BlockIndices
from girih.passes.tile.gpu.one_pass import is_online
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
        return (accumulators if is_online(node) else reduction).initial(b, node)

    def alone(self, node: ReduceNode) -> list[ir.Value]:
        """The accumulator where the block holds all elements of its results."""
        if is_online(node):
            return self.take_in(node, self.initial(node))
        return self._selected(node, self._elements(node), self.initial(node))

    def take_in(self, node: ReduceNode, accumulator: list[ir.Value]) -> list[ir.Value]:
        """The accumulator with the elements where the loops stand."""
        value, *position = self._elements(node)
        self.builder.location = node.location
        if self.grid.group > 1:
            return self._take_in_groups(node, accumulator, value)
        b = self.indices.at(self.stack.depth, self._shape(node))
        if is_online(node):
            results = accumulators.combine(b, node, accumulator, value)
        else:
            position = position or [None]
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
        groups = accumulators.Groups(value, mask, _in_groups)
        if is_online(node):
            return accumulators.combine_groups(b, node, accumulator, groups)
        combines = reduction.combination(node)
        nothing = reduction.identity(combines, element)
        value = groups.filled(b, value, name, nothing)
        combined = reduction.horizontal(b, combines, element, value, _in_groups)
        b = self.indices.at(self.stack.depth, shape[:1])
        return [reduction.merge(b, combines, element, accumulator[0], combined)]

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
        if dims or is_online(node):

            def across(b: Builder, kind: str, name: str, value: ir.Value) -> ir.Value:
                return _reduced(b, kind, name, value, (shape, dims)) if dims else value

            family = accumulators if is_online(node) else reduction
            accumulator = family.across_lanes(b, node, accumulator, across)
        self.stack.top.values[node.number] = reduction.result(b, node, accumulator)


def _in_groups(b: Builder, kind: str, name: str, value: ir.Value) -> ir.Value:
    """The groups of a block, each reduced to one value."""
    return _without_dim(b, kind, name, value, (tuple(value.type.shape), 1))


def _reduced(
    b: Builder, kind: str, name: str, value: ir.Value, along: tuple[tuple, list[int]]
) -> ir.Value:
    """A block reduced along some dims, which keep size 1; a scalar if none is left."""
    shape, dims = along
    left = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    if len(shape) == 2:
        value = _without_dim(b, kind, name, value, (shape, dims[-1]))
        if any(size > 1 for size in left):
            return b.op("vector.shape_cast", b.type(name, left), value)
    attribute = b.parsed(f"#vector.kind<{kind}>")
    return b.op("vector.reduction", b.type(name, 0), value, kind=attribute)


def _without_dim(
    b: Builder, kind: str, name: str, value: ir.Value, along: tuple[tuple, int]
) -> ir.Value:
    """A block of two dims reduced along one of them."""
    shape, dim = along
    b.width = (shape[1 - dim],)
    start = b.constant(_NEUTRAL[kind](name), name)
    value = b.op(
        "vector.multi_reduction",
        start.type,
        value,
        start,
        kind=b.parsed(f"#vector.kind<{kind}>"),
        reduction_dims=b.parsed(f"array<i64: {dim}>"),
    )
    b.width = shape
    return value


def _bits(name: str) -> int:
    return int(name[1:])


# What changes nothing when it is combined, by kind and name of the type.
_NEUTRAL = {
    "add": lambda name: 0,
    "mul": lambda name: 1,
    "or": lambda name: 0,
    "and": lambda name: -1,
    "maximumf": lambda name: float("-inf"),
    "minimumf": lambda name: float("inf"),
    "maxsi": lambda name: -(1 << (_bits(name) - 1)),
    "minsi": lambda name: (1 << (_bits(name) - 1)) - 1,
    "maxui": lambda name: 0,
    "minui": lambda name: -1,
}
