"""The table of lowering rules, and what they share while a kernel is lowered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from girih.dialects.bindings import ir
from girih.dialects.rule_table import RuleTable


@dataclass
class Lowering:
    """The state of one kernel's lowering.

    Attributes:
        threshold: grids that touch fewer elements run serially.
        status: address of the kernel's status word.
        function_entry: the block where `tile.workspace` is allocated.
        program_entry: the block where `tile.scratch` is allocated: one for each
            thread.
        prefixes: masks of last steps, by identity: their first lane is always set.
    """

    threshold: int
    status: ir.Value
    function_entry: ir.Block
    program_entry: ir.Block
    prefixes: set[ir.Value] = field(default_factory=set)

    def lower_block(self, block: ir.Block) -> None:
        """Lower the ops of a block, and of the blocks inside them, in order."""
        for op in list(block.operations):
            operation = op.operation
            rule = RULES.get(operation.name)
            if rule is None:
                self._lower_inside(op)
                continue
            with operation.location, ir.InsertionPoint(operation):
                rule(self, op)

    def _lower_inside(self, op: ir.OpView) -> None:
        if op.operation.name.startswith("tile."):
            raise ValueError(f"expected a scheduled kernel, got {op.operation.name}")
        for region in op.operation.regions:
            for inner in region.blocks:
                self.lower_block(inner)


Rule = Callable[[Lowering, ir.OpView], None]

RULES: dict[str, Rule] = RuleTable(
    "rule that lowers ", "@plugin.lowers({name!r}, target='cpu')"
)


def lowers(name: str) -> Callable[[Rule], Rule]:
    """Register a rule, which replaces an op of this name at the insertion point.

    Raises:
        ValueError: the op has a rule already.
    """
    return RULES.registering(name)
