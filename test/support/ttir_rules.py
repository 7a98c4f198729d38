"""What ops of Triton IR do, for `ttir_interpreter`: memory, shapes, control, calls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ttir_interpreter import (
    RULES,
    VALUES,
    Body,
    DeviceAssertion,
    Run,
    result_of,
    rounded,
)
from ttir_memory import DTYPES, Pointers, aligned_ranks

from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of, pointee, shape_of

_ADD = (4, 5)
_TF32 = 0


def rule(*names: str) -> Callable:
    """Registers a maker of steps for ops of these names."""

    def register(maker: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, maker))
        return maker

    return register


def per_lane(*names: str) -> Callable:
    """Registers a function of arrays for ops of these names."""

    def register(function: Callable) -> Callable:
        RULES.update(
            dict.fromkeys(names, lambda op: lambda run, *values: function(*values))
        )
        return function

    return register


# Programs and memory ----------------------------------------------------------------


@rule("tt.get_program_id")
def _program_id(op: ir.Operation) -> Callable:
    axis = op.opview.axis
    return lambda run: run.programs if axis == 0 else np.zeros(1, np.int32)


@rule("tt.get_num_programs")
def _number_of_programs(op: ir.Operation) -> Callable:
    axis = op.opview.axis
    return lambda run: np.array([run.grid if axis == 0 else 1], np.int32)


@rule("tt.addptr")
def _addptr(op: ir.Operation) -> Callable:
    return lambda run, pointers, elements: pointers.moved(elements)


@rule("tt.bitcast")
def _bitcast(op: ir.Operation) -> Callable:
    element = element_of(op.results[0].type)
    if isinstance(element, (ir.IntegerType, ir.FloatType)):
        return RULES["arith.bitcast"](op)
    element = str(pointee(element))
    return lambda run, pointers: Pointers(pointers.buffer, pointers.offsets, element)


@rule("tt.load")
def _load(op: ir.Operation) -> Callable:
    shape, element = shape_of(op.results[0].type), result_of(op.results[0].type).element
    segments = list(op.attributes["operandSegmentSizes"])

    def load(run: Run, *values: object) -> np.ndarray:
        pointers, mask, other = _operands(segments, values)
        lanes = run.lanes(mask, shape)
        found = _from_memory(run.memory.load(pointers, lanes, run.programs), element)
        if other is None:
            other = _anything(element)
        return np.where(lanes, found, other)

    return load


def _operands(segments: list[int], values: tuple) -> list:
    rest = list(values)
    return [rest.pop(0) if size else None for size in segments]


def _anything(element: str) -> np.ndarray:
    """What lanes hold that were masked off without a value: what must not matter."""
    dtype = np.dtype(VALUES[element])
    if dtype.kind == "f":
        return np.array(np.nan, dtype)
    return np.array(np.iinfo(dtype).max // 3, dtype)


def _from_memory(data: np.ndarray, element: str) -> np.ndarray:
    if element == "bf16":
        return (data.astype(np.uint32) << 16).view(np.float32)
    return data


def _to_memory(values: np.ndarray, element: str) -> np.ndarray:
    if element == "bf16":
        bits = np.ascontiguousarray(rounded(values, 16)).view(np.uint32)
        quiet = np.where(np.isnan(values), 0x7FC0, bits >> 16)
        return quiet.astype(np.uint16)
    return values.astype(DTYPES[element], copy=False)


@rule("tt.store")
def _store(op: ir.Operation) -> Callable:
    element = result_of(op.operands[1].type).element
    shape = shape_of(op.operands[1].type)

    def store(run: Run, pointers: Pointers, value: np.ndarray, mask=None) -> list:
        lanes = run.lanes(mask, shape)
        values = np.broadcast_to(_to_memory(value, element), lanes.shape)
        run.memory.store(pointers, values, lanes, run.programs)
        return []

    return store


@rule("tt.atomic_rmw")
def _atomic_rmw(op: ir.Operation) -> Callable:
    kind = op.opview.atomic_rmw_op
    if kind not in _ADD:
        raise NotImplementedError(f"the interpreter has no atomic update {kind}")
    shape = shape_of(op.operands[1].type)
    element = result_of(op.operands[1].type).element

    def plus(before: np.ndarray, value: np.ndarray) -> np.ndarray:
        total = _from_memory(np.asarray(before), element) + value
        return _to_memory(np.atleast_1d(total), element)[0]

    def update(run: Run, pointers: Pointers, value: np.ndarray, mask=None):
        lanes = run.lanes(mask, shape)
        values = np.broadcast_to(value, lanes.shape)
        before = run.memory.add(pointers, values, lanes, plus)
        return _from_memory(before, element)

    return update


@rule("tt.assert")
def _assert(op: ir.Operation) -> Callable:
    shape, message = shape_of(op.operands[0].type), op.opview.message

    def check(run: Run, condition: np.ndarray) -> list:
        lanes = run.lanes(None, shape)
        if (lanes & ~condition).any():
            raise DeviceAssertion(message)
        return []

    return check


# Shapes -----------------------------------------------------------------------------


def _rearranged(change: Callable) -> Callable:
    """A step that moves the elements of a tensor, of pointers too."""

    def move(run: Run, value: object) -> object:
        if isinstance(value, Pointers):
            return value.reshaped(change)
        return change(value)

    return move


@rule("tt.make_range")
def _make_range(op: ir.Operation) -> Callable:
    numbers = np.arange(op.opview.start, op.opview.end, dtype=np.int32)[None]
    return lambda run: numbers


@rule("tt.splat")
def _splat(op: ir.Operation) -> Callable:
    shape = shape_of(op.results[0].type)
    ones = (1,) * len(shape)
    return _rearranged(
        lambda x: np.broadcast_to(x.reshape(len(x), *ones), (len(x), *shape))
    )


@rule("tt.broadcast")
def _broadcast(op: ir.Operation) -> Callable:
    shape = shape_of(op.results[0].type)
    return _rearranged(lambda x: np.broadcast_to(x, (len(x), *shape)))


@rule("tt.expand_dims")
def _expand_dims(op: ir.Operation) -> Callable:
    axis = op.opview.axis + 1
    return _rearranged(lambda x: np.expand_dims(x, axis))


@rule("tt.reshape")
def _reshape(op: ir.Operation) -> Callable:
    shape = shape_of(op.results[0].type)
    return _rearranged(lambda x: x.reshape(len(x), *shape))


@rule("tt.trans")
def _trans(op: ir.Operation) -> Callable:
    order = [0, *(dim + 1 for dim in op.opview.order)]
    return _rearranged(lambda x: np.transpose(x, order))


# Reductions and products ------------------------------------------------------------


@rule("tt.reduce")
def _reduce(op: ir.Operation, combine: Body) -> Callable:
    axis = op.opview.axis + 1

    def reduce(run: Run, *values: np.ndarray) -> list:
        parts = [np.moveaxis(v, axis, -1) for v in np.broadcast_arrays(*values)]
        while (size := parts[0].shape[-1]) > 1:
            halves = [part[..., : size // 2] for part in parts]
            halves += [part[..., size // 2 :] for part in parts]
            parts = _combined(run, combine, halves)
        return [part[..., 0] for part in parts]

    return reduce


@rule("tt.scan")
def _scan(op: ir.Operation, combine: Body) -> Callable:
    axis, is_reverse = op.opview.axis + 1, op.opview.reverse

    def scan(run: Run, *values: np.ndarray) -> list:
        parts = [np.moveaxis(v, axis, -1) for v in np.broadcast_arrays(*values)]
        if is_reverse:
            parts = [part[..., ::-1] for part in parts]
        apart = 1
        while apart < parts[0].shape[-1]:
            halves = [part[..., :-apart] for part in parts]
            halves += [part[..., apart:] for part in parts]
            found = _combined(run, combine, halves)
            pairs = zip(parts, found, strict=True)
            parts = [np.concatenate([p[..., :apart], f], -1) for p, f in pairs]
            apart *= 2
        if is_reverse:
            parts = [part[..., ::-1] for part in parts]
        return [np.moveaxis(part, -1, axis) for part in parts]

    return scan


def _combined(run: Run, combine: Body, halves: list[np.ndarray]) -> list:
    """The body on all pairs of elements at once: as if each were a program."""
    shape = halves[0].shape
    given = combine(run, [half.reshape(-1) for half in halves])
    return [np.broadcast_to(value, halves[0].size).reshape(shape) for value in given]


@rule("tt.dot")
def _dot(op: ir.Operation) -> Callable:
    is_tf32 = op.opview.inputPrecision == _TF32
    element = result_of(op.operands[0].type).element

    def dot(run: Run, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        if element == "f32" and is_tf32:
            a, b = rounded(a, 13), rounded(b, 13)
        return np.matmul(a.astype(c.dtype), b.astype(c.dtype)) + c

    return dot


# Control ----------------------------------------------------------------------------


def _chosen(condition: np.ndarray, new: object, old: object) -> object:
    """New values for programs that took part, the old ones for others."""
    if isinstance(new, Pointers):
        offsets = _chosen(condition, new.offsets, old.offsets)
        return Pointers(new.buffer, offsets, new.element)
    return np.where(*aligned_ranks(condition, new, old))


def _run_some(run: Run, active: np.ndarray, body: Body, arguments: list) -> list:
    before, run.active = run.active, active
    try:
        return body(run, arguments)
    finally:
        run.active = before


@rule("scf.for")
def _for(op: ir.Operation, body: Body) -> Callable:
    def loop(run: Run, low, high, step, *carried: object) -> list:
        low, high, step = (each.astype(np.int64) for each in (low, high, step))
        trips = np.where(run.active, np.maximum(0, -((low - high) // step)), 0)
        for number in range(int(trips.max())):
            index = (low + number * step).astype(op_index)
            going = trips > number
            new = _run_some(run, going, body, [index, *carried])
            if going.all():
                carried = new
            else:
                pairs = zip(new, carried, strict=True)
                carried = [_chosen(going, ours, old) for ours, old in pairs]
        return list(carried)

    op_index = VALUES[str(op.operands[0].type)]
    return loop


@rule("scf.if")
def _if(op: ir.Operation, then: Body, otherwise: Body | None = None) -> Callable:
    def branch(run: Run, condition: np.ndarray) -> list:
        condition = np.broadcast_to(condition, run.active.shape)
        if condition[run.active].all():
            return _run_some(run, run.active, then, [])
        if otherwise is not None and not condition[run.active].any():
            return _run_some(run, run.active, otherwise, [])
        taken = _run_some(run, run.active & condition, then, [])
        if otherwise is None:
            return []
        other = _run_some(run, run.active & ~condition, otherwise, [])
        pairs = zip(taken, other, strict=True)
        return [_chosen(condition, ours, theirs) for ours, theirs in pairs]

    return branch
