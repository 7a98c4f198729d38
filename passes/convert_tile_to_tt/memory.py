"""Loads, stores, gathers, local buffers and checks; buffers are pointers.

The scalar part of an address is added to the pointer first, so that what is added
lane by lane is a range times a stride: Triton reads from it how wide accesses may be.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import tt
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of, same_shape, shape_of
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.kernel import memory_element
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers
from girih.passes.upstream import constant_of, is_all_true

Value = ir.Value

_UNEQUAL = 1
_ADD, _ADD_FLOATS = 4, 5


@lowers("tile.load")
def lower_load(lowering: Lowering, op: ir.OpView) -> None:
    """One load of a block."""
    type = lowering.type(op.results[0].type)
    pointers = _pointers(lowering, op, shape_of(type))
    mask = _mask(lowering, op.masks, shape_of(type))
    lowering.set(op, _load(lowering, type, pointers, mask, op.other))


@lowers("tile.gather")
def lower_gather(lowering: Lowering, op: ir.OpView) -> None:
    """One element for each lane's offset."""
    type = lowering.type(op.results[0].type)
    base = b.splat(lowering.new(op.buffer), shape_of(type))
    pointers = b.make("addptr", [base, lowering.new(op.offsets)])
    mask = _mask(lowering, [] if op.mask is None else [op.mask], shape_of(type))
    lowering.set(op, _load(lowering, type, pointers, mask, op.other))


def _load(
    lowering: Lowering,
    type: ir.Type,
    pointers: Value,
    mask: Value | None,
    other: Value | None,
) -> Value:
    memory = same_shape(type, memory_element(element_of(type)))
    filling = None
    if mask is not None and other is not None:
        filling = b.splat(_to_memory(lowering.new(other)), shape_of(type))
    elif mask is not None:
        filling = b.constant(memory, 0)
    value = b.make("load", [pointers, mask, filling])
    if memory == type:
        return value
    return b.compare(_UNEQUAL, value, b.constant(memory, 0))


@lowers("tile.store")
def lower_store(lowering: Lowering, op: ir.OpView) -> None:
    """One store of a block."""
    value = _to_memory(lowering.new(op.value))
    shape = shape_of(value.type)
    pointers = _pointers(lowering, op, shape)
    tt.build("store", [pointers, value, _mask(lowering, op.masks, shape)])


@lowers("tile.update")
def lower_update(lowering: Lowering, op: ir.OpView) -> None:
    """An atomic update for each lane; nothing waits for what was there before."""
    value = lowering.new(op.value)
    base = b.splat(lowering.new(op.buffer), shape_of(value.type))
    pointers = b.make("addptr", [base, lowering.new(op.offsets)])
    mask = None if op.mask is None else lowering.new(op.mask)
    is_float = isinstance(element_of(value.type), ir.FloatType)
    attributes = {"atomic_rmw_op": _ADD_FLOATS if is_float else _ADD}
    b.make("atomic_rmw", [pointers, value, mask], attributes)


def _to_memory(value: Value) -> Value:
    memory = memory_element(element_of(value.type))
    is_bool = ty.is_bool(element_of(value.type))
    return b.resized(value, memory, signed=False) if is_bool else value


def _pointers(lowering: Lowering, op: ir.OpView, shape: tuple[int, ...]) -> Value:
    """buffer + offset + sum of lane numbers times strides."""
    base = b.make("addptr", [lowering.new(op.buffer), lowering.new(op.offset)])
    if not shape:
        return base
    pointers = b.splat(base, [size if i == 0 else 1 for i, size in enumerate(shape)])
    for dim, (size, stride) in enumerate(zip(shape, op.strides, strict=True)):
        offsets = _along(_lane_offsets(lowering, size, stride), dim, len(shape))
        sizes = [n if i <= dim else 1 for i, n in enumerate(shape)]
        pointers = b.broadcast(pointers, sizes)
        pointers = b.make("addptr", [pointers, b.broadcast(offsets, sizes)])
    return pointers


def _lane_offsets(lowering: Lowering, size: int, stride: Value) -> Value:
    """Lane numbers times a stride; in 32 bits where that is known to be enough."""
    known = constant_of(stride)
    numbers = b.lanes(size)
    if known == 1:
        return numbers
    if known is not None and abs(known) * size < 2**31:
        return b.same("arith.muli", numbers, b.constant(numbers.type, known))
    numbers = lowering.lanes(size)
    return b.same("arith.muli", numbers, b.splat(lowering.new(stride), [size]))


def _along(row: Value, dim: int, rank: int) -> Value:
    """Values of one dimension as a tensor of rank 1 or 2."""
    return row if rank == 1 else b.expand(row, 1 - dim)


def _mask(
    lowering: Lowering, masks: Sequence[Value], shape: tuple[int, ...]
) -> Value | None:
    """One mask for all dimensions; None where every lane is accessed."""
    result = None
    for dim, old in enumerate(masks):
        if is_all_true(old):
            continue
        mask = lowering.new(old)
        if shape:
            mask = b.broadcast(_along(mask, dim, len(shape)), shape)
        result = mask if result is None else b.same("arith.andi", result, mask)
    return result


@lowers("tile.workspace")
def lower_workspace(lowering: Lowering, op: ir.OpView) -> None:
    """A part of the function's last argument."""
    offset = b.constant(b.integer(64), lowering.workspaces[op.buffer])
    place = b.make("addptr", [lowering.workspace, offset])
    element = memory_element(ty.buffer_parts(op.buffer.type).element_type)
    pointer = tt.pointer_type(element)
    if pointer != place.type:
        place = b.make("bitcast", [place], type=pointer)
    lowering.set(op, place)


@lowers("tile.check")
def lower_check(lowering: Lowering, op: ir.OpView) -> None:
    """The device stops where a lane is masked in but not ok, as eager's kernels do."""
    ok = lowering.new(op.ok)
    if op.mask is not None:
        off = b.same("arith.xori", lowering.new(op.mask), b.constant(ok.type, True))
        ok = b.same("arith.ori", ok, off)
    tt.build("assert", [ok], {"message": "index out of range"})
