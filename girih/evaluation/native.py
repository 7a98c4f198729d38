"""Evaluation of kernels as functions of a processor, up to LLVM's dialect, on NumPy.

Pointers are real addresses, and accesses are checked: they stay inside of the memory
that the program was given or has made. What runs in parallel runs in order.
"""

from __future__ import annotations

import bisect
import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from girih.dialects.bindings import ir
from girih.evaluation import kernels, library
from girih.evaluation.kernels import RULES, TYPES, rule, typed
from girih.evaluation.state import UnknownOp

_DYNAMIC = -(2**31)
"""Stands in ``rawConstantIndices`` for an operand."""

_SAME = {
    "add": "addi",
    "and": "andi",
    "ashr": "shrsi",
    "fadd": "addf",
    "fcmp": "cmpf",
    "fdiv": "divf",
    "fmul": "mulf",
    "fneg": "negf",
    "fpext": "extf",
    "fptosi": "fptosi",
    "fptoui": "fptoui",
    "fptrunc": "truncf",
    "frem": "remf",
    "fsub": "subf",
    "icmp": "cmpi",
    "bitcast": "bitcast",
    "lshr": "shrui",
    "mul": "muli",
    "or": "ori",
    "sdiv": "divsi",
    "select": "select",
    "sext": "extsi",
    "shl": "shli",
    "sitofp": "sitofp",
    "srem": "remsi",
    "sub": "subi",
    "trunc": "trunci",
    "udiv": "divui",
    "uitofp": "uitofp",
    "urem": "remui",
    "xor": "xori",
    "zext": "extui",
}
_INTRINSICS = {
    "ceil": "math.ceil",
    "copysign": "math.copysign",
    "cos": "math.cos",
    "exp": "math.exp",
    "exp2": "math.exp2",
    "fabs": "math.absf",
    "floor": "math.floor",
    "fma": "math.fma",
    "log": "math.log",
    "log10": "math.log10",
    "log2": "math.log2",
    "maximum": "arith.maximumf",
    "maxnum": "arith.maxnumf",
    "minimum": "arith.minimumf",
    "minnum": "arith.minnumf",
    "pow": "math.powf",
    "rint": "math.roundeven",
    "roundeven": "math.roundeven",
    "sin": "math.sin",
    "smax": "arith.maxsi",
    "smin": "arith.minsi",
    "sqrt": "math.sqrt",
    "stepvector": "vector.step",
    "tanh": "math.tanh",
    "trunc": "math.trunc",
    "umax": "arith.maxui",
    "umin": "arith.minui",
}
_OTHERS = {f"llvm.{name}": f"arith.{other}" for name, other in _SAME.items()}
_OTHERS |= {f"llvm.intr.{name}": other for name, other in _INTRINSICS.items()}
_OTHERS["llvm.mlir.constant"] = "arith.constant"
_REDUCED = {
    "add": np.add,
    "and": np.bitwise_and,
    "fadd": np.add,
    "fmax": np.fmax,
    "fmaximum": np.maximum,
    "fmin": np.fmin,
    "fminimum": np.minimum,
    "fmul": np.multiply,
    "mul": np.multiply,
    "or": np.bitwise_or,
    "smax": np.maximum,
    "smin": np.minimum,
    "umax": np.maximum,
    "umin": np.minimum,
    "xor": np.bitwise_xor,
}
_ENDS = {
    "func.return",
    "llvm.return",
    "llvm.unreachable",
    "omp.terminator",
    "omp.yield",
    "scf.yield",
}


def call(
    functions: dict[str, Any],
    name: str,
    buffers: Sequence[Tensor],
    symbols: Sequence[int],
    most_ops: float,
) -> bool:
    """Calls a function ``f(ptr* buffers, i64* symbols, i32* status)``.

    Args:
        functions: The functions of the module, by name.
        name: Of the one that is called.
        buffers: Tensors on the CPU, which it may write.
        symbols: Values of symbols.
        most_ops: How many ops may run.

    Returns:
        Whether no check of it failed.

    Raises:
        TooLong: More ops would run.
        UnknownOp: There is no rule for an op.
    """
    memory = Memory()
    for buffer in buffers:
        storage = buffer.untyped_storage()
        memory.add(storage.data_ptr(), storage.nbytes(), storage)
    pointers = memory.make(8 * max(1, len(buffers)))
    sizes = memory.make(8 * max(1, len(symbols)))
    status = memory.make(64, fill=0)
    for number, buffer in enumerate(buffers):
        memory.write(pointers + 8 * number, np.int64(buffer.data_ptr()))
    for number, symbol in enumerate(symbols):
        memory.write(sizes + 8 * number, np.int64(symbol))
    state = FunctionState(functions, memory, most_ops)
    with np.errstate(all="ignore"):
        state.call(name, [pointers, sizes, status])
    return int(memory.read(status, np.dtype(np.int32), ())) == 0


class Memory:
    """What may be accessed."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._kept: list[Any] = []

    def add(self, address: int, count: int, kept: Any) -> None:
        """Allows accesses to so many bytes, and keeps what owns them alive."""
        self._kept.append(kept)
        if count and address not in self._starts:
            place = bisect.bisect(self._starts, address)
            self._starts.insert(place, address)
            self._ends.insert(place, address + count)

    def make(self, count: int, fill: int = 255) -> int:
        """The address of fresh bytes."""
        made = ctypes.create_string_buffer(count + 64)
        ctypes.memset(made, fill, count + 64)
        address = (ctypes.addressof(made) + 63) // 64 * 64
        self.add(address, count, made)
        return address

    def read(self, address: int, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
        """The elements at an address, in a row."""
        count = int(np.prod(shape, dtype=np.int64))
        self._check(address, count * dtype.itemsize)
        data = ctypes.string_at(address, count * dtype.itemsize)
        return np.frombuffer(data, dtype).reshape(shape)[()]

    def write(self, address: int, value: Any) -> None:
        """Writes elements from an address on."""
        data = np.ascontiguousarray(value).tobytes()
        self._check(address, len(data))
        ctypes.memmove(address, data, len(data))

    def _check(self, address: int, count: int) -> None:
        place = bisect.bisect(self._starts, address) - 1
        if place < 0 or address + count > self._ends[place]:
            raise AssertionError("an access is outside of the program's memory")


class FunctionState(kernels.KernelState):
    """The values known so far, in a module with functions.

    Args:
        functions: Those of the module, by name.
        memory: What may be accessed.
        most_ops: How many ops may run.
    """

    def __init__(self, functions: dict[str, Any], memory: Memory, most_ops: float):
        super().__init__(for_gpu=False, most_ops=most_ops)
        self._functions = functions
        self.memory = memory

    def call(self, name: str, arguments: Sequence) -> list:
        """Calls a function of the module, or of a library of vector functions."""
        function = self._functions.get(name)
        blocks = [] if function is None else list(function.regions[0].blocks)
        if not blocks:
            return [library.function(name)(*arguments)]
        return self.run_with(blocks[0], arguments)

    def run_with(self, block: ir.Block, arguments: Sequence) -> list:
        """Runs a block and those that it leads to."""
        for argument, value in zip(block.arguments, arguments, strict=True):
            self.values[argument] = value
        return self.run(block)

    def run(self, block: ir.Block) -> list:
        """Runs a block, and those that it leads to; gives the last one's operands."""
        following: ir.Block | None = block
        while following is not None:
            block, following = following, None
            for op in block.operations:
                operation = op.operation
                self.count_op()
                operands = [self.values[value] for value in operation.operands]
                if operation.name in _ENDS:
                    return operands
                if operation.name in _BRANCHES:
                    following, values = _BRANCHES[operation.name](operation, operands)
                    for argument, value in zip(
                        following.arguments, values, strict=True
                    ):
                        self.values[argument] = value
                    break
                for result, value in zip(
                    operation.results, self.results(operation, operands), strict=True
                ):
                    self.values[result] = typed(value, result.type, False)
        return []

    def results(self, op: ir.Operation, operands: list) -> list:
        """What one op gives."""
        if op.name in _STRUCTURES:
            return _STRUCTURES[op.name](self, op, operands)
        if (found := _reduction_of(op.name)) is not None:
            return [found(*operands)]
        name = _OTHERS.get(op.name, op.name)
        if name in RULES:
            value = RULES[name](op, *operands)
            return [] if value is None else [value]
        return super().results(op, operands)


def _reduction_of(name: str) -> Callable | None:
    kind = name.removeprefix("llvm.intr.vector.reduce.")
    if kind == name:
        return None
    if kind not in _REDUCED:
        raise UnknownOp(name)
    function = _REDUCED[kind]

    def reduce(*operands: Any) -> Any:
        *start, value = operands
        if kind in ("umax", "umin") and value.dtype != np.bool_:
            value = value.view(f"u{value.dtype.itemsize}")
        found = function.reduce(value)
        return function(start[0], found) if start else found

    return reduce


# Branches -----------------------------------------------------------------------------


def _branch(op: ir.Operation, operands: list) -> tuple[ir.Block, list]:
    return op.successors[0], operands


def _conditional(op: ir.Operation, operands: list) -> tuple[ir.Block, list]:
    condition, *rest = operands
    _, count, _ = op.attributes["operandSegmentSizes"]
    if condition:
        return op.successors[0], rest[:count]
    return op.successors[1], rest[count:]


_BRANCHES = {
    "cf.br": _branch,
    "cf.cond_br": _conditional,
    "llvm.br": _branch,
    "llvm.cond_br": _conditional,
}


# Regions and calls --------------------------------------------------------------------


def _once(state: FunctionState, op: ir.Operation, operands: list) -> list:
    state.run(op.regions[0].blocks[0])
    return []


def _loop_nest(state: FunctionState, op: ir.Operation, operands: list) -> list:
    low, high, step = operands
    for index in range(int(low), int(high), int(step)):
        state.run_with(op.regions[0].blocks[0], [np.int64(index)])
    return []


def _call(state: FunctionState, op: ir.Operation, operands: list) -> list:
    if "callee" not in op.attributes:
        raise UnknownOp("llvm.call of a pointer")
    found = state.call(op.attributes["callee"].value, operands)
    return found[: len(op.results)]


# Memory -------------------------------------------------------------------------------


def _element(type_: ir.Type) -> tuple[str, tuple[int, ...]]:
    if isinstance(type_, ir.VectorType):
        return str(type_.element_type), tuple(type_.shape)
    return str(type_), ()


def _stored(name: str) -> np.dtype:
    """The dtype of elements in memory."""
    if name == "bf16":
        return np.dtype(np.uint16)
    if name not in TYPES:
        raise UnknownOp(f"an access to {name}")
    return np.dtype(TYPES[name])


def _decoded(value: Any, name: str) -> Any:
    if name != "bf16":
        return value
    bits = np.asarray(value).astype(np.uint32) << 16
    return bits.view(np.float32)


def _encoded(value: Any, name: str) -> np.ndarray:
    array = np.asarray(value)
    if name == "bf16":
        return (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return array.astype(_stored(name))


def _load(state: FunctionState, op: ir.Operation, operands: list) -> list:
    name, shape = _element(op.results[0].type)
    found = state.memory.read(int(operands[0]), _stored(name), shape)
    return [_decoded(found, name)]


def _store(state: FunctionState, op: ir.Operation, operands: list) -> list:
    value, address = operands
    name, _ = _element(op.operands[0].type)
    state.memory.write(int(address), _encoded(value, name))
    return []


def _lanes(address: Any, count: int, size: int) -> np.ndarray:
    """The address of each lane, of a row or given one by one."""
    if np.ndim(address):
        return address
    return int(address) + size * np.arange(count, dtype=np.int64)


def _masked_load(state: FunctionState, op: ir.Operation, operands: list) -> list:
    address, mask, other = operands
    name, shape = _element(op.results[0].type)
    dtype = _stored(name)
    found = np.array(other)
    lanes = _lanes(address, shape[0], dtype.itemsize)
    if not np.ndim(address) and np.all(mask):
        return [_decoded(state.memory.read(int(address), dtype, shape), name)]
    for lane in np.flatnonzero(mask):
        value = state.memory.read(int(lanes[lane]), dtype, ())
        found[lane] = _decoded(value, name)
    return [found]


def _masked_store(state: FunctionState, op: ir.Operation, operands: list) -> list:
    value, address, mask = operands
    name, shape = _element(op.operands[0].type)
    data = _encoded(value, name)
    lanes = _lanes(address, shape[0], data.dtype.itemsize)
    for lane in np.flatnonzero(mask):
        state.memory.write(int(lanes[lane]), data[lane])
    return []


def _allocated(state: FunctionState, op: ir.Operation, operands: list) -> list:
    name = str(op.attributes["elem_type"].value)
    return [state.memory.make(int(operands[0]) * _stored(name).itemsize)]


_STRUCTURES = {
    "llvm.alloca": _allocated,
    "llvm.call": _call,
    "llvm.intr.masked.gather": _masked_load,
    "llvm.intr.masked.load": _masked_load,
    "llvm.intr.masked.scatter": _masked_store,
    "llvm.intr.masked.store": _masked_store,
    "llvm.load": _load,
    "llvm.store": _store,
    "omp.loop_nest": _loop_nest,
    "omp.parallel": _once,
    "omp.wsloop": _once,
}


@rule("llvm.getelementptr")
def _address(op, base, *dynamic):
    (raw,) = list(op.attributes["rawConstantIndices"])
    index = np.asarray(dynamic[0]) if raw == _DYNAMIC else raw
    size = _stored(str(op.attributes["elem_type"].value)).itemsize
    moved = base + index * size
    return moved if np.ndim(moved) else int(moved)


@rule("llvm.mlir.zero")
def _zero(op):
    return _blank(op)


@rule("llvm.mlir.poison", "llvm.mlir.undef", "ub.poison")
def _blank(op):
    name, shape = _element(op.results[0].type)
    if name not in TYPES:
        raise UnknownOp(op.name)
    return np.zeros(shape, TYPES[name]) if shape else TYPES[name](0)


@rule("llvm.insertelement")
def _insert_element(op, vector, value, place):
    found = np.array(vector)
    found[int(place)] = value
    return found


@rule("llvm.extractelement")
def _extract_element(op, vector, place):
    return vector[int(place)]


@rule("llvm.shufflevector", "vector.shuffle")
def _shuffle(op, one, other):
    mask = np.asarray(list(op.attributes["mask"]))
    return np.concatenate([one, other])[np.maximum(mask, 0)]


@rule("builtin.unrealized_conversion_cast", "llvm.freeze")
def _same(op, value):
    return value
