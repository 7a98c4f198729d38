"""Replaces the body of a kernel by its schedule."""

from girih.dialects.bindings import ir
from girih.passes.tile.elements import Element
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.columns import ColumnProgram
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.indices import Indices
from girih.passes.tile.emit.product import ProductProgram
from girih.passes.tile.emit.program import Program, make_local
from girih.passes.tile.emit.values import Values
from girih.passes.tile.gpu.contraction_choose import ContractionGrid
from girih.passes.tile.gpu.contraction_program import ContractionProgram
from girih.passes.tile.gpu.indices import BlockIndices
from girih.passes.tile.gpu.program import BlockProgram
from girih.passes.tile.gpu.values import BlockValues
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import SchedulePlan
from girih.passes.tile.product import ProductGrid

Buffers = dict[int, tuple[ir.Value, Element]]


def emit_kernel(
    kernel: ir.Operation, source: KernelSource, plan: SchedulePlan, options: TileOptions
) -> None:
    """Makes the scheduled body of a kernel in place of the unscheduled one."""
    block = kernel.regions[0].blocks[0]
    for op in reversed(list(block.operations)):
        op.operation.erase()
    stack = FrameStack(block)
    builder = Builder(lambda: stack.frames[0].point, kernel.location)
    builder.casts_float8 = options.casts_float8
    builder.saturates_float8 = options.saturates_float8
    builder.vector_bits = options.vector_bits
    buffers = {
        number: (buffer.value, buffer.element)
        for number, buffer in enumerate(source.buffers)
    }
    for local in plan.locals:
        if local.is_shared:
            buffers[local.number] = make_local(builder, local)
    emit = _emit_blocks if plan.is_blocked else _emit_lanes
    emit(plan, builder, stack, source, buffers)
    kernel.attributes["schedule"] = ir.StringAttr.get(plan.text)


def _emit_lanes(
    plan: SchedulePlan,
    builder: Builder,
    stack: FrameStack,
    source: KernelSource,
    buffers: Buffers,
) -> None:
    """Grids whose values are vectors along one coordinate, for CPUs."""
    private = tuple(local for local in plan.locals if not local.is_shared)
    indices = Indices(builder, stack, source.symbols)
    for grid in plan.grids:
        values = Values(builder, stack, indices, buffers)
        program = ProductProgram if isinstance(grid, ProductGrid) else Program
        if program is Program and grid.columns is not None:
            program = ColumnProgram
        program(grid, private, builder, stack, indices, values).emit()


def _emit_blocks(
    plan: SchedulePlan,
    builder: Builder,
    stack: FrameStack,
    source: KernelSource,
    buffers: Buffers,
) -> None:
    """Grids whose values are blocks, for GPUs."""
    builder.has_maximum = True
    indices = BlockIndices(builder, stack, source.symbols)
    for grid in plan.grids:
        values = BlockValues(builder, stack, indices, buffers)
        is_product = isinstance(grid, ContractionGrid)
        program = ContractionProgram if is_product else BlockProgram
        program(grid, builder, stack, indices, values).emit()
