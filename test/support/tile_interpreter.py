"""A reference for scheduled kernels: runs tile, arith, math, vector and scf on NumPy.

``run_kernel(module, tensors, symbols)`` runs the module's kernel on flat NumPy arrays,
in place, program by program; it gives False where a ``tile.check`` failed. It is slow
and plain on purpose, and it checks what hardware would not forgive: that accesses stay
inside of their buffers, and that the sizes of blocks are powers of two.

bf16 is not supported (NumPy has no such type).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from girih.dialects.bindings import ir
from girih.dialects.types import buffer_parts

TYPES = {
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
RULES: dict[str, Callable] = {}


class Checks(Exception):
    """A check that failed."""


def run_kernel(
    module: ir.Module, arrays: Sequence[np.ndarray], symbols: Sequence[int] = ()
) -> bool:
    """Runs the only kernel of a module; False where a check of it failed."""
    kernel = module.body.operations[0].operation
    block = kernel.regions[0].blocks[0]
    state = State()
    for argument, value in zip(block.arguments, [*arrays, *symbols], strict=True):
        state.values[argument] = value
    with np.errstate(all="ignore"):
        state.run(block)
    return state.is_valid


class State:
    """The values known so far."""

    def __init__(self) -> None:
        self.values: dict[ir.Value, object] = {}
        self.is_valid = True

    def run(self, block: ir.Block) -> list:
        """Runs a block; gives the operands of its terminator."""
        for op in block.operations:
            operation = op.operation
            operands = [self.values[value] for value in operation.operands]
            if operation.name in ("tile.yield", "scf.yield"):
                return operands
            results = self.results(operation, operands)
            for result, value in zip(operation.results, results, strict=True):
                self.values[result] = _typed(value, result.type)
        return []

    def results(self, op: ir.Operation, operands: list) -> list:
        """What one op gives."""
        if op.name in STRUCTURES:
            return STRUCTURES[op.name](self, op, operands)
        value = RULES[op.name](op, *operands)
        return [] if value is None else [value]

    def enter(self, op: ir.Operation, arguments: list) -> list:
        """Runs the only block of an op."""
        block = op.regions[0].blocks[0]
        for argument, value in zip(block.arguments, arguments, strict=True):
            self.values[argument] = value
        return self.run(block)


def _typed(value: object, type_: ir.Type) -> object:
    """The value with its type's dtype and sizes, which are checked."""
    if isinstance(type_, ir.VectorType):
        shape = tuple(type_.shape)
        assert all(size & (size - 1) == 0 for size in shape), shape
        result = np.asarray(value).astype(TYPES[str(type_.element_type)])
        assert result.shape == shape, (result.shape, shape)
        return result
    name = str(type_)
    return np.asarray(value).astype(TYPES[name])[()] if name in TYPES else value


# Regions ----------------------------------------------------------------------------


def _grid(state: State, op: ir.Operation, operands: list) -> list:
    assert "num_warps" in op.attributes
    for program in range(int(operands[0])):
        state.enter(op, [np.int64(program)])
    return []


def _loop(state: State, op: ir.Operation, operands: list) -> list:
    low, high, *carried = operands
    width = op.attributes["width"].value
    for start in range(int(low), int(high), width):
        mask = np.arange(start, start + width) < high
        carried = state.enter(op, [np.int64(start), mask, *carried])
    return carried


def _for(state: State, op: ir.Operation, operands: list) -> list:
    low, high, step, *carried = operands
    for index in range(int(low), int(high), int(step)):
        carried = state.enter(op, [np.int64(index), *carried])
    return carried


def _check(state: State, op: ir.Operation, operands: list) -> list:
    ok, *mask = operands
    if np.any(~np.asarray(ok) & (mask[0] if mask else True)):
        state.is_valid = False
    return []


def _workspace(state: State, op: ir.Operation, operands: list) -> list:
    type_ = op.results[0].type
    element = str(buffer_parts(type_).element_type)
    return [np.zeros(op.attributes["elements"].value, TYPES[element])]


STRUCTURES = {
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


def _read(buffer: np.ndarray, places: np.ndarray, inside: np.ndarray):
    accessed = places[inside]
    assert ((accessed >= 0) & (accessed < buffer.size)).all(), "out of bounds"
    result = np.zeros(places.shape, buffer.dtype)
    result[inside] = buffer[accessed]
    return result


def _shape(type_: ir.Type) -> tuple[int, ...]:
    return tuple(type_.shape) if isinstance(type_, ir.VectorType) else ()


@rule("tile.load")
def _load(op, *operands):
    (buffer,), (offset,), strides, masks, _ = _segments(op, operands)
    shape = _shape(op.results[0].type)
    return _read(buffer, *_places(offset, strides, masks, shape))


@rule("tile.gather")
def _gather(op, *operands):
    (buffer,), (offsets,), masks, _ = _segments(op, operands)
    inside = masks[0] if masks else np.full(offsets.shape, True)
    return _read(buffer, offsets, inside)


@rule("tile.store")
def _store(op, *operands):
    (value,), (buffer,), (offset,), strides, masks = _segments(op, operands)
    shape = _shape(op.operands[0].type)
    places, inside = _places(offset, strides, masks, shape)
    accessed = places[inside]
    assert ((accessed >= 0) & (accessed < buffer.size)).all(), "out of bounds"
    buffer[accessed] = np.asarray(value)[inside]


# Vectors ----------------------------------------------------------------------------


@rule("vector.broadcast")
def _broadcast(op, value):
    return np.broadcast_to(value, _shape(op.results[0].type))


@rule("vector.shape_cast")
def _shape_cast(op, value):
    return np.reshape(value, _shape(op.results[0].type))


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


def _reduced(op, value, axes: tuple[int, ...]):
    kind = str(op.attributes["kind"]).removeprefix("#vector.kind<").removesuffix(">")
    if kind in ("maxui", "minui"):
        fold = np.maximum if kind == "maxui" else np.minimum
        return fold.reduce(_unsigned(value), axis=axes).astype(value.dtype)
    return REDUCE[kind].reduce(value, axis=axes)


@rule("vector.reduction")
def _reduction(op, value):
    return _reduced(op, value, (0,))


@rule("vector.multi_reduction")
def _multi_reduction(op, value, start):
    kind = str(op.attributes["kind"]).removeprefix("#vector.kind<").removesuffix(">")
    reduced = _reduced(op, value, tuple(op.attributes["reduction_dims"]))
    return REDUCE[kind](reduced, start) if kind in REDUCE else reduced


# arith and math ---------------------------------------------------------------------


@rule("arith.constant")
def _constant(op):
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        element = attribute.get_splat_value()
        return np.full(_shape(attribute.type), element.value)
    return attribute.value


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


@rule("arith.divui", "arith.remui")
def _unsigned_division(op, lhs, rhs):
    function = np.floor_divide if op.name == "arith.divui" else np.remainder
    return function(_unsigned(lhs), _unsigned(rhs))


@rule("arith.extui", "arith.uitofp")
def _from_unsigned(op, value):
    return _unsigned(value)


@rule("arith.maxui", "arith.minui")
def _unsigned_extremum(op, lhs, rhs):
    function = np.maximum if op.name == "arith.maxui" else np.minimum
    return function(_unsigned(lhs), _unsigned(rhs))


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
            "math.absi": np.abs,
            "math.ceil": np.ceil,
            "math.copysign": np.copysign,
            "math.erf": np.vectorize(math.erf),
            "math.exp": np.exp,
            "math.exp2": np.exp2,
            "math.floor": np.floor,
            "math.fma": lambda x, y, z: x * y + z,
            "math.log": np.log,
            "math.powf": np.power,
            "math.roundeven": np.rint,
            "math.sqrt": np.sqrt,
            "math.tanh": np.tanh,
            "math.trunc": np.trunc,
        }.items()
    }
)
