"""``fuse``: groups primitives into ``graph.fusion`` ops, which become kernels.

Requires: functions of primitives and library ops (``decompose`` ran).
Establishes: every primitive that computes stands in a fusion whose region is in the
normal form of docs/inside/graph.md; views, constants and lone concats stay outside.

Before::

    %1 = "graph.reshape"(%0) : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
    %2 = "graph.add"(%1, %bias) : (tensor<2x3x4xf32>, tensor<4xf32>) -> ...
    %3 = "graph.exp"(%2) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>

After::

    %1 = "graph.fusion"(%0, %bias) <{domain = [2, 3, 4], ...}> ({
    ^bb0(%x: tensor<6x4xf32>, %b: tensor<4xf32>):
      reshape, add, exp, yield

It does not choose loops or tile sizes (``tile`` does), and it never computes an
expensive value twice to save a kernel.

``print-fusion-plan`` prints what ``fuse`` would do and changes nothing. It has a line
for each kernel and for each op that stays outside of kernels, in order. ``'`` marks an
op that is computed once for all elements that a reduction joins (the sum of a row, and
what is computed from it alone). ``*`` marks an op that is computed where another one
reads it, at the reader's coordinates. At the end stands a line for each kernel that
reads the result of another one: why the two are not one kernel.

Read in this order: ``program`` (the records), ``chain`` and ``shapes`` (access chains),
``reader``, ``free`` (what every reader computes itself), ``plan``, ``placement`` (what
fits together), ``moved`` (what is computed again in a row), ``grouping`` (what is
joined), ``order``, ``writer`` and ``region`` (how a region is built), ``rewrite``.
"""

from dataclasses import replace

from girih.dialects.bindings import ir
from girih.passes.choices import NO_LIMIT, USUAL, Choices
from girih.passes.fuse.chain import Broadcast, Chain, Reshape
from girih.passes.fuse.grouping import group_program, refusals
from girih.passes.fuse.order import order_units, outputs_of
from girih.passes.fuse.placement import own_placement
from girih.passes.fuse.plan import FuseOptions, FusionGroup, FusionPlan, Placement
from girih.passes.fuse.program import Kind, Need, Program
from girih.passes.fuse.reader import ProgramReader
from girih.passes.fuse.report import plan_text
from girih.passes.fuse.rewrite import apply_plan
from girih.passes.graph_builder import erase_dead_ops, function_bodies
from girih.passes.registry import register_pass
from girih.passes.remarks import remark


@register_pass("fuse", options=FuseOptions)
def run(op: ir.Operation, options: FuseOptions) -> None:
    """Groups primitives into fusions."""
    choices = Choices(options)
    for block in function_bodies(op):
        erase_dead_ops(block)
        limits = _limits(options, choices)
        reader = _read(block, limits, choices)
        plan = make_plan(reader.program, limits, choices)
        _tell(reader, plan, limits)
        apply_plan(reader, plan, block)
        erase_dead_ops(block)


@register_pass("print-fusion-plan", options=FuseOptions)
def print_fusion_plan(op: ir.Operation, options: FuseOptions) -> None:
    """Prints the groups that fuse would make, and why neighbours do not join."""
    for block in function_bodies(op):
        reader = _read(block, options)
        why = refusals(reader.program, options)
        print(plan_text(reader, make_plan(reader.program, options), why))


def _tell(reader: ProgramReader, plan: FusionPlan, options: FuseOptions) -> None:
    """Says what is joined, and why neighbours do not join."""

    def text() -> str:
        # What fuel or a seed decides is in the decisions, and has no other reason.
        is_usual = options.fuel == NO_LIMIT and options.seed == NO_LIMIT
        why = refusals(reader.program, options) if is_usual else []
        return plan_text(reader, plan, why)

    remark(text)


def _limits(options: FuseOptions, choices: Choices) -> FuseOptions:
    """Returns options with chosen limits of what only takes time."""
    if choices.are_usual:
        return options
    chosen = {
        name: choices.pick(
            lambda name=name: f"fuse: {name.replace('_', '-')} of a function",
            getattr(options, name),
            (getattr(options, name), *others),
        )
        for name, others in _OTHER_LIMITS.items()
    }
    return replace(options, **chosen)


_OTHER_LIMITS = {
    "max_concat_operands": (1, 64),
    "max_expensive_recompute": (0, 16),
    "max_recompute": (0, 64),
    "parallel_rows": (1, 1000),
    "small_row": (0, 4096),
    "stores_weights": (False, True),
}


def _read(
    block: ir.Block, options: FuseOptions, choices: Choices = USUAL
) -> ProgramReader:
    return ProgramReader(
        block, options.max_concat_operands, options.stores_weights, choices
    )


def make_plan(
    program: Program, options: FuseOptions, choices: Choices = USUAL
) -> FusionPlan:
    """Decides which ops share a kernel, and the order of the kernels."""
    groups = [
        FusionGroup(placement, outputs_of(program, placement))
        for placement in group_program(program, options, choices)
        if not _is_lone_concat(program, placement)
    ]
    groups = [group for group in groups if group.outputs]
    groups += _stored_counters(program)
    return FusionPlan(program, tuple(groups), order_units(program, groups))


def _stored_counters(program: Program) -> list[FusionGroup]:
    """Returns groups for the counters and sizes that something needs in memory."""
    return [
        FusionGroup(own_placement(program, node), node.results)
        for node in program.nodes
        if node.name in ("iota", "size")
        and any(
            read.need is Need.WHOLE for _, read in program.values[node.results[0]].uses
        )
    ]


def _is_lone_concat(program: Program, placement: Placement) -> bool:
    """Returns whether only a library copy of stored tensors would be fused."""
    members = [program.nodes[position] for position in placement.members]
    if len(members) != 1 or members[0].name != "concat":
        return False
    if any(_is_repeated(read.chain) for read in members[0].reads):
        return False
    producers = [program.producer(read.value) for read in members[0].reads]
    return all(node is None or node.kind is not Kind.FREE for node in producers)


def _is_repeated(chain: Chain) -> bool:
    """Returns whether a view takes a copy, because it repeats and then reshapes."""
    kinds = [type(step) for step in chain]
    return Broadcast in kinds and Reshape in kinds[kinds.index(Broadcast) :]
