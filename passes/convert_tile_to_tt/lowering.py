"""The table of lowering rules, and what they share while a grid is lowered.

The function is built anew: `values` says which new value stands for an old one. An op
without a rule becomes the same op on the new values, with tensors for vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from girih.dialects.bindings import ir
from girih.dialects.rule_table import RuleTable
from girih.passes.convert_tile_to_tt import builder as b

Value = ir.Value

# Ops of these dialects are the same on tensors.
_KEPT = frozenset({"arith", "scf"})


@dataclass
class Lowering:
    """The state of one grid's lowering.

    Attributes:
        index: the integer type that stands for `index`.
        library: whose functions of mathematics are called.
        aligned: whether each buffer begins at a multiple of 16 bytes.
        allow_tf32: whether products of float32 are rounded to tf32.
        workspaces: where each `tile.workspace` begins, in bytes, by its result.
        workspace: the function's argument for them, if any.
        values: new values by old ones.
    """

    index: ir.Type
    library: str
    aligned: bool
    workspaces: dict[Value, int]
    workspace: Value | None = None
    allow_tf32: bool = False
    values: dict[Value, Value] = field(default_factory=dict)

    def type(self, type: ir.Type) -> ir.Type:
        """The type that stands for one of the kernel's."""
        if isinstance(type, ir.IndexType):
            return self.index
        if isinstance(type, ir.VectorType):
            sizes = list(type.shape)
            if not sizes:
                return self.type(type.element_type)
            if any(size & (size - 1) for size in sizes):
                raise ValueError(f"expected sizes that are powers of two, got {type}")
            return ir.RankedTensorType.get(sizes, self.type(type.element_type))
        return type

    def new(self, value: Value) -> Value:
        """The value that stands for one of the kernel's."""
        return self.values[value]

    def all(self, values: Sequence[Value]) -> list[Value]:
        """The values that stand for several of the kernel's."""
        return [self.values[value] for value in values]

    def set(self, op: ir.OpView, *values: Value) -> None:
        """Says what the results of an op became."""
        for result, value in zip(op.results, values, strict=True):
            self.values[result] = value

    def lower_block(self, block: ir.Block) -> None:
        """Lower the ops of a block, in order, at the insertion point."""
        for op in block.operations:
            self.lower(op)

    def lower(self, op: ir.OpView) -> None:
        """Lower an op at the insertion point."""
        name = op.operation.name
        rule = RULES.get(name)
        with op.operation.location:
            if rule is not None:
                rule(self, op)
            elif name.partition(".")[0] in _KEPT:
                self.keep(op)
            else:
                raise ValueError(f"expected an op of scheduled kernels, got {name}")

    def keep(self, op: ir.OpView) -> ir.Operation:
        """Make the same op on the new values; its regions too."""
        operation = op.operation
        made = ir.Operation.create(
            operation.name,
            results=[self.type(result.type) for result in operation.results],
            operands=self.all(operation.operands),
            attributes={
                name: operation.attributes[name] for name in operation.attributes
            },
            regions=len(operation.regions),
        )
        for old, new in zip(operation.regions, made.regions, strict=True):
            for block in old.blocks:
                self.lower_into(block, new, [a.type for a in block.arguments])
        self.set(op, *made.results)
        return made

    def lower_into(
        self, block: ir.Block, region: ir.Region, types: Sequence[ir.Type]
    ) -> None:
        """Lower a block as the block of a new region."""
        types = [self.type(type) for type in types]
        locations = [ir.Location.current] * len(types)
        new = region.blocks.append(*types, arg_locs=locations)
        self.values.update(zip(block.arguments, new.arguments, strict=True))
        with ir.InsertionPoint(new):
            self.lower_block(block)

    def lanes(self, count: int) -> Value:
        """[0, 1, ..., count - 1] in the type of indices."""
        return b.resized(b.lanes(count), self.index)


Rule = Callable[[Lowering, ir.OpView], None]

RULES: dict[str, Rule] = RuleTable(
    "rule that lowers ", "@plugin.lowers({name!r}, target='gpu')"
)


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule, which makes what ops of these names become.

    Raises:
        ValueError: an op has a rule already.
    """
    return RULES.registering(*names)
