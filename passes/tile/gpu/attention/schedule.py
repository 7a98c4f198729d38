"""Schedules a kernel of attention."""

from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.gpu.attention.backward import emit_of_keys, emit_of_query
from girih.passes.tile.gpu.attention.blocks import Blocks
from girih.passes.tile.gpu.attention.forward import emit_forward
from girih.passes.tile.gpu.attention.policy import Problem, Sizes, padded
from girih.passes.tile.gpu.attention.relax import RelaxedValues, relaxed
from girih.passes.tile.gpu.attention.score import score_nodes
from girih.passes.tile.gpu.attention.source import (
    AttentionSource,
    attention_op,
    read_attention,
)
from girih.passes.tile.gpu.attention.space import score_space
from girih.passes.tile.gpu.indices import BlockIndices
from girih.passes.tile.gpu.plan import Block
from girih.passes.tile.gpu.values import BlockValues
from girih.passes.tile.options import TileOptions
from girih.passes.tile.sizes import is_constant


@dataclass(frozen=True)
class AttentionGrid:
    """One grid of an attention kernel.

    Attributes:
        name: what its programs compute.
        sizes: of its blocks.
        is_turned: whether blocks of scores have keys as rows.
        emit: makes it.
    """

    name: str
    sizes: Sizes
    is_turned: bool
    emit: Callable


@dataclass(frozen=True)
class AttentionPlan:
    """The schedule of an attention kernel.

    Attributes:
        source: the kernel.
        grids: what it runs, one after the other.
    """

    source: AttentionSource
    grids: tuple[AttentionGrid, ...]

    @property
    def text(self) -> str:
        """What stands in the kernel's ``schedule`` attribute."""
        if not self.grids:
            return "empty: the outputs have no elements"
        parts = [f"{grid.name} by {grid.sizes.text}" for grid in self.grids]
        return f"attention: {'; '.join(parts)}"


def has_attention(kernel: ir.Operation) -> bool:
    """Whether an unscheduled kernel is one of attention."""
    return attention_op(kernel) is not None


def plan_attention(kernel: ir.Operation, options: TileOptions) -> AttentionPlan:
    """Reads a kernel of attention and decides how it runs."""
    source = read_attention(kernel, attention_op(kernel))
    if any(is_constant(size, 0) for size in source.shape[:3]):
        return AttentionPlan(source, ())
    element = source.buffer("query").element
    width = max(map(padded, source.widths)) * element.bytes
    problem = Problem(width, *source.shape[2:], options.shared_bytes)
    if not source.is_backward:
        sizes = problem.forward().tuned(source.tuning, "rows")
        grid = AttentionGrid("rows", sizes, False, emit_forward)
        return AttentionPlan(source, (grid,))
    by_keys = problem.by_columns().tuned(source.tuning, "keys")
    by_queries = problem.by_rows().tuned(source.tuning, "queries")
    grids = (
        AttentionGrid("keys", by_keys, True, emit_of_keys),
        AttentionGrid("queries", by_queries, False, emit_of_query),
    )
    return AttentionPlan(source, grids)


def schedule_attention(kernel: ir.Operation, options: TileOptions) -> None:
    """Gives a kernel of attention its schedule."""
    plan = plan_attention(kernel, options)
    if plan.grids:
        _emit(kernel, plan)
    else:
        _erase_body(kernel)
    kernel.attributes["schedule"] = ir.StringAttr.get(plan.text)


def _erase_body(kernel: ir.Operation) -> None:
    for op in reversed(list(kernel.regions[0].blocks[0].operations)):
        op.operation.erase()


def _emit(kernel: ir.Operation, plan: AttentionPlan) -> None:
    """Replaces the body of a kernel by its grids."""
    source, block = plan.source, kernel.regions[0].blocks[0]
    space = score_space(source)
    nodes, element = score_nodes(source, space), source.buffer("query").element
    nodes = relaxed(nodes) if element.bits == 16 else nodes
    make_values = RelaxedValues if element.name == "bf16" else BlockValues
    _erase_body(kernel)
    stack = FrameStack(block)
    builder = Builder(lambda: stack.frames[0].point, kernel.location)
    buffers = {n: (b.value, b.element) for n, b in enumerate(source.kernel.buffers)}
    indices = BlockIndices(builder, stack, source.kernel.symbols)
    for grid in plan.grids:
        dims = (
            Block(space.rows, grid.sizes.rows),
            Block(space.columns, grid.sizes.columns),
        )
        indices.blocks = dims[::-1] if grid.is_turned else dims
        values = make_values(builder, stack, indices, buffers)
        blocks = Blocks(source, stack, indices, values)
        builder.location = kernel.location
        grid.emit(blocks, space, nodes, grid.sizes)
