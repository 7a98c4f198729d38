"""Replaces the body of a kernel by its schedule."""

from girih.dialects.bindings import ir
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.indices import Indices
from girih.passes.tile.emit.program import Program, make_local
from girih.passes.tile.emit.values import Values
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.plan import SchedulePlan


def emit_kernel(kernel: ir.Operation, source: KernelSource, plan: SchedulePlan) -> None:
    """Makes the scheduled body of a kernel in place of the unscheduled one."""
    block = kernel.regions[0].blocks[0]
    for op in reversed(list(block.operations)):
        op.operation.erase()
    stack = FrameStack(block)
    builder = Builder(lambda: stack.frames[0].point, kernel.location)
    indices = Indices(builder, stack, source.symbols)
    buffers = {
        number: (buffer.value, buffer.element)
        for number, buffer in enumerate(source.buffers)
    }
    for local in plan.locals:
        if local.is_shared:
            buffers[local.number] = make_local(builder, local)
    private = tuple(local for local in plan.locals if not local.is_shared)
    for grid in plan.grids:
        values = Values(builder, stack, indices, buffers)
        Program(grid, private, builder, stack, indices, values).emit()
    kernel.attributes["schedule"] = ir.StringAttr.get(plan.text)
