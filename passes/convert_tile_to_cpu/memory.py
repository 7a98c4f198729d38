"""Accesses, prefetches, local buffers and checks; buffers are plain addresses."""

from __future__ import annotations

from collections.abc import Callable

from girih.dialects import types as ty
from girih.dialects.bindings import ir, llvm
from girih.passes.convert_tile_to_cpu import builder as b
from girih.passes.convert_tile_to_cpu.access import (
    Access,
    address,
    gather,
    store_element,
)
from girih.passes.convert_tile_to_cpu.lowering import Lowering, lowers
from girih.passes.convert_tile_to_cpu.vectors import from_rows
from girih.passes.upstream import is_all_true

Value = ir.Value

# A cache line, and the widest vector.
_LOCAL_ALIGNMENT = 64
# Of LLVM's prefetches: for reading data that is kept in the second-level cache.
_SECOND_LEVEL, _DATA = 2, 1
# Local buffers lie on the stacks of torch's threads; those have 2 MiB at least.
_MAX_LOCAL_BYTES = 1 << 20


@lowers("tile.load")
def lower_load(lowering: Lowering, op: ir.OpView) -> None:
    """One access, or one for each row of a vector of rank 2."""
    type, other = op.results[0].type, op.other
    if _rank(type) < 2:
        result = _access(lowering, op).load(type, other)
    else:
        row = ir.VectorType.get(type.shape[1:], type.element_type)
        rows = _for_each_row(lowering, op, type, lambda _, a: a.load(row, other))
        result = from_rows(rows, type)
    op.results[0].replace_all_uses_with(result)
    op.operation.erase()


@lowers("tile.store")
def lower_store(lowering: Lowering, op: ir.OpView) -> None:
    """One access, or one for each row of a vector of rank 2."""
    value = op.value
    if _rank(value.type) < 2:
        _access(lowering, op).store(value)
    else:
        _for_each_row(
            lowering, op, value.type, lambda row, a: a.store(b.lane(value, row))
        )
    op.operation.erase()


def _rank(type: ir.Type) -> int:
    return type.rank if isinstance(type, ir.VectorType) else 0


def _access(lowering: Lowering, op: ir.OpView) -> Access:
    strides, masks = op.strides, op.masks
    stride = strides[0] if strides else None
    mask = masks[0] if masks else None
    return Access(lowering, op.buffer, op.offset, stride, mask)


def _for_each_row(
    lowering: Lowering,
    op: ir.OpView,
    type: ir.VectorType,
    emit: Callable[[int, Access], Value | None],
) -> list[Value | None]:
    """What `emit` makes of each row's number and access."""
    row_stride, stride = op.strides
    row_mask, mask = op.masks or (None, None)
    if row_mask is not None and is_all_true(row_mask):
        row_mask = None
    results = []
    for row in range(type.shape[0]):
        offset = b.add(op.offset, b.mul(row_stride, b.index(row)))
        lanes = _row_mask(row_mask, row, mask)
        results.append(emit(row, Access(lowering, op.buffer, offset, stride, lanes)))
    return results


def _row_mask(row_mask: Value | None, row: int, mask: Value | None) -> Value | None:
    if row_mask is None:
        return mask
    here = b.broadcast(b.lane(row_mask, row), mask.type.shape[0])
    return here if is_all_true(mask) else b.same("arith.andi", here, mask)


@lowers("tile.gather")
def lower_gather(lowering: Lowering, op: ir.OpView) -> None:
    """One element for each lane."""
    type = op.results[0].type
    result = gather(op.buffer, op.offsets, op.mask, op.other, type)
    op.results[0].replace_all_uses_with(result)
    op.operation.erase()


@lowers("tile.prefetch")
def lower_prefetch(lowering: Lowering, op: ir.OpView) -> None:
    """One instruction, which does nothing where an address is not the process's."""
    place = address(op.buffer, op.offset, b.integer(8))
    llvm.Prefetch(place, rw=0, hint=_SECOND_LEVEL, cache=_DATA)
    op.operation.erase()


@lowers("tile.scratch")
def lower_scratch(lowering: Lowering, op: ir.OpView) -> None:
    """Stack memory of the thread, outside of its loop over programs."""
    _allocate(op, lowering.program_entry)


@lowers("tile.workspace")
def lower_workspace(lowering: Lowering, op: ir.OpView) -> None:
    """Stack memory of the kernel."""
    _allocate(op, lowering.function_entry)


def _allocate(op: ir.OpView, block: ir.Block) -> None:
    parts = ty.buffer_parts(op.results[0].type)
    size = ty.byte_width(parts.element_type) * op.elements
    if size > _MAX_LOCAL_BYTES:
        raise ValueError(
            f"{op.name} expected at most {_MAX_LOCAL_BYTES} bytes, got {size}"
        )
    with ir.InsertionPoint.at_block_begin(block):
        count = b.splat(b.integer(64), max(size, 1))
        memory = llvm.AllocaOp(
            b.pointer(), count, b.integer(8), alignment=_LOCAL_ALIGNMENT
        )
    op.results[0].replace_all_uses_with(memory.result)
    op.operation.erase()


@lowers("tile.check")
def lower_check(lowering: Lowering, op: ir.OpView) -> None:
    """Status 1 if a lane is masked in but not ok; every thread stores the same."""
    ok, mask = op.ok, op.mask
    failed = b.same("arith.xori", ok, b.splat(ok.type, -1))
    if mask is not None:
        failed = b.same("arith.andi", failed, mask)
    _, (block,) = b.if_(b.any_lane(failed))
    with ir.InsertionPoint(block):
        store_element(b.splat(b.integer(32), 1), lowering.status)
        b.yield_()
    op.operation.erase()
