"""Index expressions as values over blocks: vectors of ``index``."""

from girih.dialects.bindings import ir
from girih.passes.tile.emit.builder import Builder, Width
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.indices import Indices, Located
from girih.passes.tile.gpu.plan import Block
from girih.passes.tile.index import (
    Affine,
    Atom,
    Coordinate,
    Dynamic,
    Quotient,
    affine,
    coordinates_of,
)
from girih.passes.tile.sizes import Size, exact_quotient, is_constant


class BlockIndices(Indices):
    """Computes index expressions, scalar or one for each point of the block.

    A coordinate that has a dim of the block is bound to the index of its first point.

    Attributes:
        blocks: the dims of the open grid's block.
    """

    def __init__(
        self, builder: Builder, stack: FrameStack, symbols: dict[str, ir.Value]
    ) -> None:
        super().__init__(builder, stack, symbols)
        self.blocks: tuple[Block, ...] = ()

    def shape(self, coordinates: frozenset[Coordinate]) -> Width:
        """The sizes of a value that varies over these coordinates; 0 for a scalar."""
        sizes = tuple(
            block.size if block.coordinate in coordinates else 1
            for block in self.blocks
        )
        return sizes if any(size > 1 for size in sizes) else 0

    def dim_of(self, coordinate: Coordinate) -> int:
        """The number of the block's dim along a coordinate."""
        return [block.coordinate for block in self.blocks].index(coordinate)

    def bind(self, coordinate: Coordinate, start: ir.Value, end: Size | None) -> None:
        """Binds a dim of the block in the innermost frame.

        Args:
            coordinate: the dim's coordinate.
            start: the index of the first point.
            end: where the coordinate ends; None where all points are inside.
        """
        self.stack.top.coordinates[coordinate] = start
        if end is not None:
            self.bind_mask(coordinate, self._below(coordinate, self.size(end)))

    def bind_mask(self, coordinate: Coordinate, mask: ir.Value) -> None:
        """Says which points of a dim, bound in the innermost frame, are inside."""
        self.stack.top.values["mask", coordinate] = mask

    def _below(self, coordinate: Coordinate, end: ir.Value) -> ir.Value:
        numbers, depth = self._numbers(coordinate)
        b = self.at(depth, (self._size_of(coordinate),))
        limit = b.op("vector.broadcast", "index", end)
        return b.compare_ints("slt", numbers, limit)

    def _size_of(self, coordinate: Coordinate) -> int:
        return self.blocks[self.dim_of(coordinate)].size

    # Masks ----------------------------------------------------------------------

    def dim_mask(self, coordinate: Coordinate) -> ir.Value | None:
        """The points of a dim that are inside; None where all are."""
        found = self.stack.find(("mask", coordinate))
        return None if found is None else found[0]

    def mask(self, shape: Width) -> ir.Value | None:
        """The points of a value of this shape that are inside; None where all are.

        The builder stays where it is.
        """
        parts = [
            (dim, own)
            for dim, block in enumerate(self.blocks)
            if shape and shape[dim] > 1
            for own in [self.stack.find(("mask", block.coordinate))]
            if own is not None
        ]
        # Named by its parts: a loop without masks has fewer than the next one.
        key = ("mask", shape, tuple(own[0] for _, own in parts))
        found = self.stack.find(key)
        if found is not None or not parts:
            return found[0] if found else None
        b = self.builder
        place = (b.point, b.width)
        result, depth = self._all_of(parts, shape)
        b.point, b.width = place
        self.stack.frames[depth].values[key] = result
        return result

    def _all_of(
        self, parts: list[tuple[int, Located]], shape: tuple[int, ...]
    ) -> Located:
        """A new mask of this shape, where the masks of some dims hold."""
        result, deepest = None, 0
        for dim, (mask, depth) in parts:
            deepest = max(deepest, depth)
            b = self.at(deepest, shape)
            part = self.shaped(mask, dim, shape)
            result = part if result is None else b.same("arith.andi", result, part)
        return result, deepest

    def shaped(self, vector: ir.Value, dim: int, shape: tuple[int, ...]) -> ir.Value:
        """A vector along one dim as a block, where the builder stands."""
        b = self.builder
        name = str(ir.VectorType(vector.type).element_type)
        if len(shape) == 1:
            return vector
        own = tuple(size if at == dim else 1 for at, size in enumerate(shape))
        column = b.op("vector.shape_cast", b.type(name, own), vector)
        if own == shape:
            return column
        return b.op("vector.broadcast", b.type(name, shape), column)

    # Values over the block --------------------------------------------------------

    def _numbers(self, coordinate: Coordinate) -> Located:
        """The indices along a dim: those of the first point and what follows."""
        found = self.stack.find(("numbers", coordinate))
        depth = self.stack.depth_of(coordinate)
        if found is not None and found[1] == depth:
            return found
        frame, size = self.stack.frames[depth], self._size_of(coordinate)
        b = self.at(depth, (size,))
        steps = b.op("vector.step", "index")
        first = b.op("vector.broadcast", "index", frame.coordinates[coordinate])
        frame.values["numbers", coordinate] = b.same("arith.addi", first, steps)
        return frame.values["numbers", coordinate], depth

    def split_block(self, expression: Affine) -> tuple[Affine, list[Size], Affine]:
        """Splits an expression by what the block's dims do to it.

        Returns:
            The part that all points share, the step along each dim, and the part that
            varies otherwise.
        """
        shared, irregular = {}, {}
        dims = {block.coordinate: dim for dim, block in enumerate(self.blocks)}
        steps: list[Size] = [0] * len(self.blocks)
        for atom, coefficient in expression.terms:
            if atom in dims:
                steps[dims[atom]] = coefficient
            elif self.varies(affine({atom: 1})):
                irregular[atom] = coefficient
            else:
                shared[atom] = coefficient
        return affine(shared, expression.const), steps, affine(irregular)

    def varies(self, expression: Affine) -> bool:
        """True where points of the block have different values."""
        return bool(self.shape(coordinates_of(expression)))

    def per_lane(self, expression: Affine) -> ir.Value:
        """An expression as i64 at each point, of the shape that it varies over."""
        vector, depth = self.located_block(expression)
        shape = self.shape(coordinates_of(expression))
        return self.at(depth, shape).op("arith.index_cast", "i64", vector)

    def located_block(self, expression: Affine) -> Located:
        """An expression at each point, of the shape that it varies over."""
        key = ("block", expression)
        found = self.stack.find(key)
        if found is not None:
            return found
        shape = self.shape(coordinates_of(expression))
        shared, steps, irregular = self.split_block(expression)
        parts = [self._part(a, c, shape) for a, c in irregular.terms]
        for block, step in zip(self.blocks, steps, strict=True):
            if not is_constant(step, 0):
                parts.append(self._part(block.coordinate, step, shape))
        if not (shared.is_const and is_constant(shared.const, 0)):
            parts.append(self._spread(self._scalar(shared), 0, shape))
        value, depth = parts[0]
        for other, other_depth in parts[1:]:
            depth = max(depth, other_depth)
            value = self.at(depth, shape).same("arith.addi", value, other)
        self.stack.frames[depth].values[key] = value
        return value, depth

    def linear_along(self, expression: Affine, dim: int) -> ir.Value | None:
        """An expression at each point of one dim; None if it varies otherwise."""
        shared, steps, irregular = self.split_block(expression)
        coordinate = self.blocks[dim].coordinate
        if irregular.terms or not is_constant(steps[dim], 1):
            return None
        if any(not is_constant(s, 0) for d, s in enumerate(steps) if d != dim):
            return None
        width = (self.blocks[dim].size,)
        parts = [self._numbers(coordinate)]
        if not (shared.is_const and is_constant(shared.const, 0)):
            parts.append(self._spread(self._scalar(shared), 0, width))
        value, depth = parts[0]
        for other, other_depth in parts[1:]:
            depth = max(depth, other_depth)
            value = self.at(depth, width).same("arith.addi", value, other)
        return value

    def _part(self, atom: Atom, coefficient: Size, shape: Width) -> Located:
        """A term at each point of the shape; scaled before it is spread."""
        own = self.shape(coordinates_of(affine({atom: 1})))
        value, depth = self._varying_atom(atom)
        if not is_constant(coefficient, 1):
            factor = self._spread((self.size(coefficient), 0), 0, own)[0]
            value = self.at(depth, own).same("arith.muli", value, factor)
        return self._spread((value, depth), own, shape)

    def _varying_atom(self, atom: Atom) -> Located:
        """An atom that varies over the block, of its own shape."""
        own = self.shape(coordinates_of(affine({atom: 1})))
        if isinstance(atom, Coordinate):
            vector, depth = self._numbers(atom)
            self.at(depth, own)
            return self.shaped(vector, self.dim_of(atom), own), depth
        if isinstance(atom, Dynamic):
            value, depth = self.node_value(atom.node)
            return self.at(depth, own).op("arith.index_cast", "index", value), depth
        value, depth = self.located_block(atom.value)
        name = "arith.divui" if isinstance(atom, Quotient) else "arith.remui"
        divisor = self._spread((self.size(atom.divisor), 0), 0, own)[0]
        return self.at(depth, own).same(name, value, divisor), depth

    def _spread(self, located: Located, own: Width, shape: Width) -> Located:
        """An index value of one shape broadcast to another."""
        value, depth = located
        if own == shape:
            return located
        return self.at(depth, shape).op("vector.broadcast", "index", value), depth


def is_whole(size: Size, block: int) -> bool:
    """True where blocks of this many points cover a size exactly."""
    return not is_constant(size, 0) and exact_quotient(size, block) is not None
