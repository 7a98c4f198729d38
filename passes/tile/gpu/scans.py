"""Scans over blocks: what is carried from one block to the next."""

from girih.dialects.bindings import ir
from girih.dialects.tile.scan import COMBINATIONS
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.fold import joined, kind_of, start_of
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.gpu.indices import BlockIndices
from girih.passes.tile.gpu.plan import BlockGrid
from girih.passes.tile.gpu.values import BlockValues
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import ScanNode


class BlockScans:
    """Emits the scans of one grid."""

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
        found = [b.coordinate for b in grid.blocks if b.coordinate in grid.reduced]
        self.along: Coordinate | None = found[0] if found else None

    def initial(self, node: ScanNode) -> ir.Value:
        """What is carried into the first block."""
        shape = self.indices.shape(node.coordinates)
        b = self.indices.at(self.stack.depth)
        number = start_of(node.op.FOLD.joins.start, node.element)
        value = b.scalar_constant(number, node.element.register_name)
        carried = self._carried_type(b, node, shape)
        if value.type == carried:
            return value
        return b.op("vector.broadcast", carried, value)

    def step(self, node: ScanNode, before: ir.Value) -> ir.Value:
        """Makes the scan's value known where the loops stand.

        Args:
            node: the scan.
            before: the combination of all that comes before, for each row.

        Returns:
            The combination of that and of the elements here.
        """
        shape = self.indices.shape(node.coordinates)
        value = self.values.of_shape(node.operands[0], shape)
        self.builder.location = node.location
        b = self.indices.at(self.stack.depth, shape)
        if self.along is None:
            join = node.op.FOLD.joins
            result = after = joined(b, join, node.element, before, value)
        else:
            value = self._filled(b, node, value, shape)
            result, after = self._scanned(b, node, value, before)
        self.stack.top.values[node.number] = result
        return after

    def _carried_type(self, b: Builder, node: ScanNode, shape) -> ir.Type:
        """One number for each row; of rank 0 where the block has the dim alone."""
        name = node.element.register_name
        if self.along is None:
            return b.type(name, shape)
        dim = self.indices.dim_of(self.along)
        left = (*shape[:dim], *shape[dim + 1 :])
        return b.type(name, left) if left else b.parsed_type(f"vector<{name}>")

    def _filled(self, b: Builder, node: ScanNode, value: ir.Value, shape) -> ir.Value:
        """The elements, with such as change nothing where the dim has ended."""
        own = self.indices.shape(frozenset([self.along]))
        mask = self.indices.mask(own) if self.grid.walks else None
        if mask is None:
            return value
        if own != shape:
            mask = b.op("vector.broadcast", "i1", mask)
        number = start_of(node.op.FOLD.joins.start, node.element)
        nothing = b.constant(number, node.element.register_name)
        return b.select(mask, value, nothing)

    def _scanned(
        self, b: Builder, node: ScanNode, value: ir.Value, before: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        types = [value.type, before.type]
        dim = b.int_attribute(self.indices.dim_of(self.along))
        join = node.op.FOLD.joins
        if join.op in COMBINATIONS:
            combines = ir.StringAttr.get(join.op)
            attributes = {"combines": combines, "dim": dim}
            op = b.create("tile.block_scan", types, [value, before], attributes)
            return op.results[0], op.results[1]
        kind = kind_of(join, node.element)
        attributes = {
            "kind": b.parsed(f"#vector.kind<{kind}>"),
            "reduction_dim": dim,
            "inclusive": ir.BoolAttr.get(True),
        }
        op = b.create("vector.scan", types, [value, before], attributes)
        return op.results[0], op.results[1]
