"""The body of a fusion that multiplies: operands as chains, the sum, what follows.

The domain is the summands, then the sizes of the results; so what follows the sum works
at the trailing dims, as it did without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import Size
from girih.dialects.graph.base import broadcast_shapes
from girih.dialects.traits import ELEMENTWISE
from girih.passes.fuse_contractions.epilogue import Group, View
from girih.passes.fuse_contractions.products import Product
from girih.passes.fuse_contractions.prologue import Prologue, is_chain, prologue_of
from girih.passes.graph_builder import GraphBuilder


class ContractionRegion:
    """Builds the body of a group's fusion.

    Attributes:
        inputs: what the fusion reads, in the order of the block's arguments.
    """

    def __init__(self, group: Group, block: ir.Block) -> None:
        self.group = group
        self.block = block
        self.inputs: list[ir.Value] = []
        self._b = BlockBuilder(group.products[0].op, block)
        self._known: dict[ir.Value, ir.Value] = {}

    @property
    def domain(self) -> tuple[Size, ...]:
        """The iteration domain: summands, then the sizes of the results."""
        first, fusion = self.group.products[0], self.group.fusion
        sizes = first.shape if fusion is None else tuple(fusion.domain)
        return (first.depth, *sizes)

    def build(self) -> list[ir.Value]:
        """Fills the block; gives what it yields.

        Those are the results of the fusion that follows, then the shared products; or
        the products where nothing follows.
        """
        views = self.group.views or (None,) * len(self.group.products)
        sums = [
            self._product(product, view)
            for product, view in zip(self.group.products, views, strict=True)
        ]
        if self.group.fusion is None:
            return sums
        pairs = zip(self.group.products, views, sums, strict=True)
        shared = []
        for product, view, value in pairs:
            self._known[view.value] = value
            if product in self.group.shared:
                shared.append(value)
        return self._follow() + shared

    def _input(self, value: ir.Value) -> ir.Value:
        """The block's argument for a value from outside."""
        if value not in self.inputs:
            self.inputs.append(value)
            self.block.add_argument(value.type, value.location)
        return self.block.arguments[self.inputs.index(value)]

    # The product ------------------------------------------------------------------

    def _product(self, product: Product, view: View | None) -> ir.Value:
        """A product as the fusion reads it, with one summand left."""
        b = self._b.at(product.op)
        steps = () if view is None else view.steps
        lhs, rhs = (
            self._operand(product, value, turn, steps)
            for value, turn in ((product.lhs, self._lhs), (product.rhs, self._rhs))
        )
        total = b.op("mul", b.widened(lhs), b.widened(rhs))
        total = b.op("reduce_sum", total, dims=(0,))
        total = _scaled(b, total, product.alpha)
        if product.bias is not None:
            bias = self._bias(product, steps)
            total = b.op("add", total, _scaled(b, b.widened(bias), product.beta))
        return b.cast(total, product.element)

    def _operand(
        self,
        product: Product,
        value: ir.Value,
        turn: Callable[[Product, ir.Value], ir.Value],
        steps: Sequence[ir.OpView],
    ) -> ir.Value:
        """An operand, computed here where a fusion made it for nothing else."""
        left = self.group.computes_left
        prologue = prologue_of(product, value, computes_left=left)

        def finish(view: ir.Value) -> ir.Value:
            return self._spread(product, turn(product, view), steps)

        if prologue is None:
            return finish(self._input(value))
        return self._computed(prologue, finish)

    def _lhs(self, product: Product, value: ir.Value) -> ir.Value:
        """[k, ..., m, 1]."""
        *batch, rows, _ = product.shape
        rank = len(batch) + 2
        value = self._b.op("permute", value, permutation=(rank - 1, *range(rank - 1)))
        return self._b.reshape(value, (product.depth, *batch, rows, 1))

    def _rhs(self, product: Product, value: ir.Value) -> ir.Value:
        """[k, ..., 1, n]."""
        *batch, _, columns = product.shape
        rank = len(batch) + 2
        if batch:
            order = (rank - 2, *range(rank - 2), rank - 1)
            value = self._b.op("permute", value, permutation=order)
        return self._b.reshape(value, (product.depth, *batch, 1, columns))

    def _computed(
        self, prologue: Prologue, finish: Callable[[ir.Value], ir.Value]
    ) -> ir.Value:
        """Copies a prologue's body; ``finish`` views its inputs as its result is."""
        fusion = prologue.fusion
        source = fusion.regions[0].blocks[0]
        pairs = zip(source.arguments, fusion.operands, strict=True)
        chains = {argument: self._input(value) for argument, value in pairs}
        computed: dict[ir.Value, ir.Value] = {}

        def operand(value: ir.Value) -> ir.Value:
            if value not in computed:
                chain = chains[value]
                if ty.shape_of(chain.type):
                    chain = self._b.widened_to(chain, tuple(fusion.domain))
                    chain = finish(self._viewed(chain, prologue.steps, ()))
                computed[value] = chain
            return computed[value]

        *body, last = source.operations
        for op in body:
            if is_chain(op) or not len(op.operands):
                chains[op.results[0]] = self._b.copied(
                    op, [chains[value] for value in op.operands]
                )
            else:
                made = self._b.copied(op, [operand(value) for value in op.operands])
                computed[op.results[0]] = made
        return operand(last.operands[0])

    def _spread(
        self, product: Product, value: ir.Value, steps: Sequence[ir.OpView]
    ) -> ir.Value:
        """An operand at the domain's points, where the result is viewed."""
        if not steps:
            return value
        shape, element = (product.depth, *product.shape), value.type.element_type
        value = self._b.typed("broadcast_to", [value], shape, element)
        return self._viewed(value, steps, (product.depth,))

    def _bias(self, product: Product, steps: Sequence[ir.OpView]) -> ir.Value:
        value = self._input(product.bias)
        if not steps:
            return value
        element = product.element
        if ty.shape_of(value.type) != product.shape:
            value = self._b.typed("broadcast_to", [value], product.shape, element)
        return self._viewed(value, steps, ())

    def _viewed(
        self, value: ir.Value, steps: Sequence[ir.OpView], leading: tuple[Size, ...]
    ) -> ir.Value:
        """A value viewed as the result is; ``leading`` dims stay in front."""
        count = len(leading)
        for step in steps:
            if step.operation.name == "graph.permute":
                order = (*range(count), *(dim + count for dim in step.permutation))
                value = self._b.op("permute", value, permutation=order)
            else:
                shape = ty.shape_of(step.results[0].type)
                value = self._b.reshape(value, (*leading, *shape))
        return value

    # What follows -----------------------------------------------------------------

    def _follow(self) -> list[ir.Value]:
        """Copies the fusion's body; gives what it yields."""
        fusion = self.group.fusion
        products = {product.result for product in self.group.products}
        source = fusion.regions[0].blocks[0]
        for argument, value in zip(source.arguments, fusion.operands, strict=True):
            if value not in products:
                self._known[argument] = self._input(value)
        views = {step for view in self.group.views for step in view.steps}
        *body, last = source.operations
        for op in body:
            if op not in views:
                self._copy(op)
        return [self._known[value] for value in last.operands]

    def _copy(self, op: ir.OpView) -> None:
        operands = [self._known[value] for value in op.operands]
        self._known[op.results[0]] = self._b.copied(op, operands)


def _scaled(b: GraphBuilder, value: ir.Value, factor: float) -> ir.Value:
    return value if factor == 1 else b.op("mul", value, b.like(factor, value))


class BlockBuilder(GraphBuilder):
    """Makes ops at the end of a block."""

    def __init__(self, op: ir.OpView, block: ir.Block) -> None:
        super().__init__(op)
        self.ip = ir.InsertionPoint(block)

    def copied(self, op: ir.OpView, operands: Sequence[ir.Value]) -> ir.Value:
        """A copy of an op; an elementwise one takes the shape of its new operands."""
        made = op.operation.clone(ip=self.ip).operation
        for number, value in enumerate(operands):
            made.operands[number] = value
        result = made.results[0]
        if has(made, ELEMENTWISE):
            shapes = [ty.shape_of(value.type) for value in operands]
            shape = reduce(lambda one, other: broadcast_shapes(one, other, "x"), shapes)
            result.set_type(ty.tensor_type(shape, result.type.element_type))
        return result

    def widened_to(self, value: ir.Value, shape: tuple[Size, ...]) -> ir.Value:
        """A view repeated to a shape."""
        if ty.shape_of(value.type) == shape:
            return value
        return self.typed("broadcast_to", [value], shape, value.type.element_type)

    def at(self, op: ir.OpView) -> BlockBuilder:
        """The builder, for ops that stand for this one."""
        self.loc = op.location
        return self
