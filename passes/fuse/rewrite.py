"""Applies a fusion plan to a block: new fusions, everything in the plan's order."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS
from girih.passes.fuse.plan import FusionGroup, FusionPlan
from girih.passes.fuse.program import Node
from girih.passes.fuse.reader import ProgramReader
from girih.passes.fuse.region import RegionBuilder


def apply_plan(reader: ProgramReader, plan: FusionPlan, block: ir.Block) -> None:
    """Builds the fusions of ``plan`` and puts all ops into its order.

    What the fusions replace is left without uses at the start of the block, for the
    caller to erase.
    """
    _Rewriter(reader, block).apply(plan)


class _Rewriter:
    def __init__(self, reader: ProgramReader, block: ir.Block):
        self.reader = reader
        self.block = block
        self.operations = reader.operations
        self.terminator = reader.operations[-1]
        self.position_of = {
            result: position
            for position, op in enumerate(reader.operations)
            for result in op.results
        }
        self.fused: set[int] = set()
        self.placed: set[int] = set()
        self.replacements: dict[int, ir.Value] = {}
        # A region is built before its inputs, hence its op, are known.
        self.holder = ir.Operation.create(
            "graph.fusion",
            regions=1,
            loc=self.terminator.location,
            ip=ir.InsertionPoint(self.terminator),
        )

    def apply(self, plan: FusionPlan) -> None:
        for unit in plan.order:
            if isinstance(unit, FusionGroup):
                self.place_fusion(unit)
            else:
                self.place(unit)
        self.holder.erase()

    def place(self, position: int) -> None:
        """Moves an op that stays to the end, after the views that it reads through."""
        pending = [position]
        while pending:
            position = pending[-1]
            op = self.operations[position]
            missing = self._missing(op)
            if position in self.placed or not missing:
                pending.pop()
                self._move(position)
            else:
                pending += missing

    def _missing(self, op: ir.OpView) -> list[int]:
        positions = (self.position_of.get(operand) for operand in op.operands)
        return [p for p in positions if p is not None and p not in self.placed]

    def _move(self, position: int) -> None:
        op = self.operations[position]
        if position not in self.placed and op is not self.terminator:
            op.operation.move_before(self.terminator)
        self.placed.add(position)

    def place_fusion(self, group: FusionGroup) -> None:
        """Builds the fusion of ``group`` and replaces what it computes."""
        members = (self.operations[n] for n in group.placement.members)
        location = ir.Location.fused([member.location for member in members])
        block, inputs, yielded = self._build_body(group)
        for value in inputs:
            self._place_input(value)
        op = self._make_fusion(group, location, inputs, yielded)
        block.append_to(op.regions[0])
        outputs = zip(group.outputs, op.results, strict=True)
        for value, result in outputs:
            self._replace(value, result)

    def _build_body(self, group: FusionGroup):
        block = self.holder.regions[0].blocks.append()
        builder = RegionBuilder(self.reader, group, block)
        yielded = builder.build_outputs(group.outputs)
        ir.Operation.create(
            "graph.yield",
            operands=yielded,
            loc=self.terminator.location,
            ip=ir.InsertionPoint(block),
        )
        return block, builder.inputs, yielded

    def _place_input(self, value: int) -> None:
        node = self.reader.program.values[value].node
        if node is not None and value not in self.replacements:
            self.place(node)

    def _make_fusion(self, group, loc, inputs, yielded) -> ir.Operation:
        placement = group.placement
        return OPS["graph.fusion"].build(
            [[self._current(value) for value in inputs]],
            {"domain": placement.domain, "reduced": sorted(placement.reduced)},
            results=[value.type for value in yielded],
            loc=loc,
            ip=ir.InsertionPoint(self.terminator),
        )

    def _current(self, value: int) -> ir.Value:
        return self.replacements.get(value, self.reader.ir_values[value])

    def _replace(self, value: int, result: ir.Value) -> None:
        """Lets everything that stays read ``result`` instead of ``value``."""
        old = self.reader.ir_values[value]
        if old.type != result.type:
            result = self._reshaped(result, old)
        self.replacements[value] = result
        self.placed.add(self.position_of[old])
        old.replace_all_uses_with(result)

    def _reshaped(self, result: ir.Value, old: ir.Value) -> ir.Value:
        node: Node = self.reader.program.nodes[self.position_of[old]]
        shape = ty.shape_of(old.type)
        made = OPS["graph.reshape"].build(
            [result],
            results=[ty.tensor_type(shape, old.type.element_type)],
            loc=self.operations[node.position].location,
            ip=ir.InsertionPoint(self.terminator),
        )
        return made.results[0]
