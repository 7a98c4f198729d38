"""A reference for scheduled kernels: runs tile, arith, math, vector and scf on NumPy.

``run_kernel(module, tensors, symbols)`` runs the module's kernel on flat NumPy arrays,
in place, program by program; it gives False where a ``tile.check`` failed. It is slow
and plain on purpose, and it checks what hardware would not forgive: that accesses stay
inside of their buffers, and, for GPUs, that the sizes of blocks are powers of two.

NumPy has no bf16: such values are float32 that are rounded after each op.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from girih.dialects.bindings import ir
from girih.dialects.types import buffer_parts
from girih.evaluation import library
from girih.evaluation.state import UnknownOp

TYPES = {
    "!llvm.ptr": np.int64,
    "bf16": np.float32,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "i8": np.int8,
    "index": np.int64,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
    "ui8": np.uint8,
}
INTEGER_COMPARISONS = "eq ne slt sle sgt sge ult ule ugt uge".split()
FLOAT_COMPARISONS = (
    "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
)
COMPARE = {
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "ne": np.not_equal,
}
RULES: dict[str, Callable] = {"tile.prefetch": lambda op, buffer, offset: None}


class TooLong(Exception):
    """More ops ran than were allowed."""


def run_kernel(
    module: ir.Module, arrays: Sequence[np.ndarray], symbols: Sequence[int] = ()
) -> bool:
    """Runs the only kernel of a module; False where a check of it failed."""
    return run(module.body.operations[0].operation, [*arrays, *symbols])


def run(
    kernel: ir.Operation,
    arguments: Sequence,
    *,
    for_gpu: bool = True,
    most_ops: float = math.inf,
) -> bool:
    """Runs a kernel; False where a check of it failed.

    Args:
        kernel: A scheduled ``tile.kernel``.
        arguments: A flat array for each buffer, then the symbols' values.
        for_gpu: Whether it has to be as GPUs need it.
        most_ops: How many ops may run.

    Raises:
        TooLong: They were not enough.
        UnknownOp: There is no rule for an op.
    """
    block = kernel.regions[0].blocks[0]
    state = KernelState(for_gpu, most_ops)
    for argument, value in zip(block.arguments, arguments, strict=True):
        state.values[argument] = value
    with np.errstate(all="ignore"):
        state.run(block)
    return state.is_valid


class KernelState:
    """The values known so far.

    Args:
        for_gpu: Whether grids say how many warps they have, and the sizes of blocks are
            powers of two.
        most_ops: How many ops may run.
    """

    def __init__(self, for_gpu: bool = True, most_ops: float = math.inf) -> None:
        self.values: dict[ir.Value, object] = {}
        self.is_valid = True
        self.for_gpu = for_gpu
        self._left = most_ops

    def count_op(self) -> None:
        """Notes that an op runs."""
        self._left -= 1
        if self._left < 0:
            raise TooLong("it would take too long")

    def run(self, block: ir.Block) -> list:
        """Runs a block; gives the operands of its terminator."""
        for op in block.operations:
            operation = op.operation
            self.count_op()
            operands = [self.values[value] for value in operation.operands]
            if operation.name in ("tile.yield", "scf.yield"):
                return operands
            results = self.results(operation, operands)
            for result, value in zip(operation.results, results, strict=True):
                self.values[result] = typed(value, result.type, self.for_gpu)
        return []

    def results(self, op: ir.Operation, operands: list) -> list:
        """What one op gives."""
        if op.name in STRUCTURES:
            return STRUCTURES[op.name](self, op, operands)
        if op.name not in RULES:
            raise UnknownOp(op.name)
        value = RULES[op.name](op, *operands)
        if isinstance(value, list):
            return value
        return [] if value is None else [value]

    def enter(self, op: ir.Operation, arguments: list) -> list:
        """Runs the only block of an op."""
        block = op.regions[0].blocks[0]
        for argument, value in zip(block.arguments, arguments, strict=True):
            self.values[argument] = value
        return self.run(block)


def typed(value: object, type_: ir.Type, for_gpu: bool) -> object:
    """The value with its type's dtype and sizes, which are checked."""
    if isinstance(type_, ir.VectorType):
        shape = tuple(type_.shape)
        if for_gpu:
            assert all(size & (size - 1) == 0 for size in shape), shape
        result = _as_element(value, str(type_.element_type))
        assert result.shape == shape, (result.shape, shape)
        return result
    name = str(type_)
    return _as_element(value, name)[()] if name in TYPES else value


def _as_element(value: object, name: str) -> np.ndarray:
    array = np.asarray(value)
    if name == "bf16":
        return rounded_to_bfloat16(array.astype(np.float32))
    if name == "i1" and array.dtype != np.bool_:
        return (array.astype(np.int64) & 1).astype(np.bool_)
    return array.astype(TYPES[name])


def rounded_to_bfloat16(array: np.ndarray) -> np.ndarray:
    """The nearest values of bf16, as float32."""
    return torch.from_numpy(np.array(array)).bfloat16().float().numpy()


# Regions ----------------------------------------------------------------------------


def _grid(state: KernelState, op: ir.Operation, operands: list) -> list:
    assert not state.for_gpu or "num_warps" in op.attributes
    for program in range(int(operands[0])):
        state.enter(op, [np.int64(program)])
    return []


def _loop(state: KernelState, op: ir.Operation, operands: list) -> list:
    low, high, *carried = operands
    width = op.attributes["width"].value
    for start in range(int(low), int(high), width):
        mask = np.arange(start, start + width) < high
        carried = state.enter(op, [np.int64(start), mask, *carried])
    return carried


def _for(state: KernelState, op: ir.Operation, operands: list) -> list:
    low, high, step, *carried = operands
    for index in range(int(low), int(high), int(step)):
        carried = state.enter(op, [np.int64(index), *carried])
    return carried


def _check(state: KernelState, op: ir.Operation, operands: list) -> list:
    ok, *mask = operands
    if np.any(~np.asarray(ok) & (mask[0] if mask else True)):
        state.is_valid = False
    return []


def _workspace(state: KernelState, op: ir.Operation, operands: list) -> list:
    type_ = op.results[0].type
    element = str(buffer_parts(type_).element_type)
    return [np.zeros(op.attributes["elements"].value, TYPES[element])]


def _if(state: KernelState, op: ir.Operation, operands: list) -> list:
    regions = list(op.regions)
    region = regions[0] if operands[0] else regions[1]
    blocks = list(region.blocks)
    return state.run(blocks[0]) if blocks else []


def _call(state: KernelState, op: ir.Operation, operands: list) -> list:
    return [library.function(op.attributes["callee"].value)(*operands)]


STRUCTURES = {
    "tile.call": _call,
    "scf.if": _if,
    "tile.scratch": _workspace,
    "scf.for": _for,
    "tile.check": _check,
    "tile.grid": _grid,
    "tile.loop": _loop,
    "tile.workspace": _workspace,
}


# Memory -----------------------------------------------------------------------------


def rule(*names: str) -> Callable:
    """Registers how ops with these names compute."""

    def register(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def _segments(op: ir.Operation, operands: tuple) -> list[list]:
    groups, rest = [], list(operands)
    for size in op.attributes["operandSegmentSizes"]:
        groups.append(rest[:size])
        rest = rest[size:]
    return groups


def _places(offset, strides, masks, shape) -> tuple[np.ndarray, np.ndarray]:
    """The offset of each lane, and whether it is accessed."""
    places, inside = np.full(shape, int(offset)), np.full(shape, True)
    for dim, stride in enumerate(strides):
        along = [-1 if d == dim else 1 for d in range(len(shape))]
        places = places + (np.arange(shape[dim]) * int(stride)).reshape(along)
    for dim, mask in enumerate(masks):
        along = [-1 if d == dim else 1 for d in range(len(shape))]
        inside = inside & (np.reshape(mask, along) if shape else mask)
    return places, inside


def _read(buffer: np.ndarray, places: np.ndarray, inside: np.ndarray, other: list):
    accessed = places[inside]
    assert ((accessed >= 0) & (accessed < buffer.size)).all(), "out of bounds"
    result = np.full(places.shape, other[0] if other else 0, buffer.dtype)
    result[inside] = buffer[accessed]
    return result


def _shape(type_: ir.Type) -> tuple[int, ...]:
    return tuple(type_.shape) if isinstance(type_, ir.VectorType) else ()


@rule("tile.load")
def _load(op, *operands):
    (buffer,), (offset,), strides, masks, other = _segments(op, operands)
    shape = _shape(op.results[0].type)
    return _read(buffer, *_places(offset, strides, masks, shape), other)


@rule("tile.gather")
def _gather(op, *operands):
    (buffer,), (offsets,), masks, other = _segments(op, operands)
    inside = masks[0] if masks else np.full(offsets.shape, True)
    return _read(buffer, offsets, inside, other)


@rule("tile.store")
def _store(op, *operands):
    (value,), (buffer,), (offset,), strides, masks = _segments(op, operands)
    shape = _shape(op.operands[0].type)
    places, inside = _places(offset, strides, masks, shape)
    accessed = places[inside]
    assert ((accessed >= 0) & (accessed < buffer.size)).all(), "out of bounds"
    buffer[accessed] = np.asarray(value)[inside]


@rule("tile.update")
def _update(op, value, buffer, offsets, *masks):
    inside = masks[0] if masks else np.full(offsets.shape, True)
    accessed = offsets[inside]
    assert ((accessed >= 0) & (accessed < buffer.size)).all(), "out of bounds"
    np.add.at(buffer, accessed, np.asarray(value)[inside])


# Vectors ----------------------------------------------------------------------------


@rule("vector.broadcast")
def _broadcast(op, value):
    return np.broadcast_to(value, _shape(op.results[0].type))


@rule("vector.shape_cast")
def _shape_cast(op, value):
    return np.reshape(value, _shape(op.results[0].type))


@rule("arith.bitcast")
def _bitcast(op, value):
    type_ = op.results[0].type
    given, wanted = (
        str(t.element_type if isinstance(t, ir.VectorType) else t)
        for t in (op.operands[0].type, type_)
    )
    array = np.asarray(value)
    if given == "bf16":
        array = (array.view(np.uint32) >> 16).astype(np.int16)
    if wanted == "bf16":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array.view(TYPES[wanted])


@rule("llvm.call_intrinsic")
def _intrinsic(op, *operands):
    name = op.attributes["intrin"].value
    if name == "llvm.ldexp":
        return np.ldexp(*operands)
    raise UnknownOp(name)


@rule("vector.extract")
def _extract(op, value, *dynamic):
    indices, rest = [], list(dynamic)
    for index in op.attributes["static_position"]:
        indices.append(int(rest.pop(0)) if index < 0 else index)
    return value[tuple(indices)]


@rule("vector.insert")
def _insert(op, value, target, *dynamic):
    indices, rest = [], list(dynamic)
    for index in op.attributes["static_position"]:
        indices.append(int(rest.pop(0)) if index < 0 else index)
    found = np.array(target)
    found[tuple(indices)] = value
    return found


def _numbers(op, name: str) -> list[int]:
    return [each.value for each in op.attributes[name]]


@rule("vector.extract_strided_slice")
def _extract_slice(op, value):
    pairs = zip(_numbers(op, "offsets"), _numbers(op, "sizes"), strict=True)
    return value[tuple(slice(start, start + count) for start, count in pairs)]


@rule("vector.insert_strided_slice")
def _insert_slice(op, value, target):
    found = np.array(target)
    starts = _numbers(op, "offsets")
    shape = [1] * (len(starts) - value.ndim) + list(value.shape)
    pairs = zip(starts, shape, strict=True)
    found[tuple(slice(start, start + count) for start, count in pairs)] = value
    return found


@rule("vector.transpose")
def _transpose(op, value):
    return np.transpose(value, tuple(op.attributes["permutation"]))


@rule("vector.step")
def _step(op):
    return np.arange(op.results[0].type.shape[0])


@rule("tile.dot")
def _dot(op, a, b, acc):
    return acc + a.astype(np.float32) @ b.astype(np.float32)


REDUCE = {
    "add": np.add,
    "and": np.bitwise_and,
    "maximumf": np.maximum,
    "maxsi": np.maximum,
    "minimumf": np.minimum,
    "minsi": np.minimum,
    "mul": np.multiply,
    "or": np.bitwise_or,
}


def _kind_of(op) -> str:
    return str(op.attributes["kind"]).removeprefix("#vector.kind<").removesuffix(">")


def _reduced(op, value, axes: tuple[int, ...]):
    kind = _kind_of(op)
    if kind in ("maxui", "minui"):
        fold = np.maximum if kind == "maxui" else np.minimum
        return fold.reduce(_unsigned(value), axis=axes).astype(value.dtype)
    return REDUCE[kind].reduce(value, axis=axes)


@rule("vector.reduction")
def _reduction(op, value, *start):
    found = _reduced(op, value, (0,))
    return REDUCE[_kind_of(op)](start[0], found) if start else found


@rule("vector.multi_reduction")
def _multi_reduction(op, value, start):
    kind = _kind_of(op)
    reduced = _reduced(op, value, tuple(op.attributes["reduction_dims"]))
    return REDUCE[kind](reduced, start) if kind in REDUCE else reduced


@rule("vector.scan")
def _scan(op, value, before):
    axis, kind = op.attributes["reduction_dim"].value, _kind_of(op)
    whole = np.concatenate([np.expand_dims(before, axis), value], axis)
    if kind in ("maxui", "minui"):
        whole = _unsigned(whole)
    combine = {"maxui": np.maximum, "minui": np.minimum}.get(kind) or REDUCE[kind]
    found = combine.accumulate(whole, axis).astype(value.dtype)
    after = np.take(found, -1, axis)
    return [np.take(found, range(1, found.shape[axis]), axis), after]


@rule("tile.block_scan")
def _scan_of_logarithms(op, value, before):
    axis = op.attributes["dim"].value
    whole = np.concatenate([np.expand_dims(before, axis), value], axis)
    found = np.logaddexp.accumulate(whole, axis).astype(value.dtype)
    after = np.take(found, -1, axis)
    return [np.take(found, range(1, found.shape[axis]), axis), after]


# arith and math ---------------------------------------------------------------------


@rule("arith.constant")
def _constant(op):
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr):
        return attribute.value
    if attribute.is_splat:
        return np.full(_shape(attribute.type), attribute.get_splat_value().value)
    return np.reshape(np.asarray(list(attribute)), _shape(attribute.type))


def _unsigned(value):
    array = np.asarray(value)
    if array.dtype == np.bool_:
        return array
    return array.view(f"u{array.dtype.itemsize}")


@rule("arith.cmpi")
def _cmpi(op, lhs, rhs):
    name = INTEGER_COMPARISONS[op.attributes["predicate"].value]
    if name.startswith("u"):
        return COMPARE[name[1:]](_unsigned(lhs), _unsigned(rhs))
    return COMPARE[name.removeprefix("s") if len(name) == 3 else name](lhs, rhs)


@rule("arith.cmpf")
def _cmpf(op, lhs, rhs):
    name = FLOAT_COMPARISONS[op.attributes["predicate"].value]
    unordered = np.isnan(lhs) | np.isnan(rhs)
    if name in ("ord", "uno"):
        return unordered if name == "uno" else ~unordered
    result = COMPARE[name[1:]](lhs, rhs)
    return result | unordered if name[0] == "u" else result & ~unordered


def _on_unsigned(function: Callable) -> Callable:
    return lambda op, lhs, rhs: function(_unsigned(lhs), _unsigned(rhs))


RULES["arith.divui"] = _on_unsigned(np.floor_divide)
RULES["arith.remui"] = _on_unsigned(np.remainder)
RULES["arith.maxui"] = _on_unsigned(np.maximum)
RULES["arith.minui"] = _on_unsigned(np.minimum)


@rule("arith.extui", "arith.uitofp")
def _from_unsigned(op, value):
    return _unsigned(value)


def _fma(x, y, z):
    """With one rounding: in float64, which holds products of float32 exactly."""
    if np.asarray(x).dtype == np.float32:
        x, y, z = (np.asarray(v, np.float64) for v in (x, y, z))
    return x * y + z


def _plain(function: Callable) -> Callable:
    return lambda op, *operands: function(*operands)


RULES.update(
    {
        name: _plain(function)
        for name, function in {
            "arith.addf": np.add,
            "arith.addi": np.add,
            "arith.andi": np.bitwise_and,
            "arith.divf": np.divide,
            "arith.divsi": lambda x, y: (x - np.fmod(x, y)) // y,
            "arith.extf": lambda x: x,
            "arith.extsi": lambda x: x,
            "arith.fptosi": np.trunc,
            "arith.index_cast": lambda x: x,
            "arith.maximumf": np.maximum,
            "arith.maxnumf": np.fmax,
            "arith.minnumf": np.fmin,
            "arith.index_castui": lambda x: x,
            "arith.maxsi": np.maximum,
            "arith.minimumf": np.minimum,
            "arith.minsi": np.minimum,
            "arith.mulf": np.multiply,
            "arith.muli": np.multiply,
            "arith.negf": np.negative,
            "arith.ori": np.bitwise_or,
            "arith.remf": np.fmod,
            "arith.remsi": np.fmod,
            "arith.select": np.where,
            "arith.shli": np.left_shift,
            "arith.shrsi": np.right_shift,
            "arith.shrui": lambda x, y: np.right_shift(_unsigned(x), _unsigned(y)),
            "arith.sitofp": lambda x: x,
            "arith.subf": np.subtract,
            "arith.subi": np.subtract,
            "arith.truncf": lambda x: x,
            "arith.trunci": lambda x: x,
            "arith.xori": np.bitwise_xor,
            "math.absf": np.abs,
            "math.acos": np.arccos,
            "math.acosh": np.arccosh,
            "math.asin": np.arcsin,
            "math.asinh": np.arcsinh,
            "math.atan": np.arctan,
            "math.atan2": np.arctan2,
            "math.atanh": np.arctanh,
            "math.cos": np.cos,
            "math.cosh": np.cosh,
            "math.erfc": np.vectorize(math.erfc),
            "math.expm1": np.expm1,
            "math.log10": np.log10,
            "math.log1p": np.log1p,
            "math.log2": np.log2,
            "math.rsqrt": lambda x: 1 / np.sqrt(x),
            "math.sin": np.sin,
            "math.sinh": np.sinh,
            "math.tan": np.tan,
            "math.absi": np.abs,
            "math.ceil": np.ceil,
            "math.copysign": np.copysign,
            "math.erf": np.vectorize(math.erf),
            "math.exp": np.exp,
            "math.exp2": np.exp2,
            "math.floor": np.floor,
            "math.fma": _fma,
            "math.log": np.log,
            "math.powf": np.power,
            "math.roundeven": np.rint,
            "math.sqrt": np.sqrt,
            "math.tanh": np.tanh,
            "math.trunc": np.trunc,
        }.items()
    }
)
