"""Runs functions of Triton IR on NumPy, all programs of a grid side by side.

A function's text becomes a list of steps once (`Function`); a launch runs them over
batches of programs. A value is an array with one more dimension in front: one entry for
each program of the batch, or a single one where all programs have the same. Loops and
branches that programs leave at different times go on with those that are left.

What it checks: see `ttir_memory`; and that assertions hold, pointers are as aligned as
the function says, and every value has its type's sizes. Each result is rounded to its
type: bf16 is held as float32 that was rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from ttir_memory import Buffer, Memory, MemoryFault, Pointers

from girih.dialects import dims, tt
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.dialects.tt.base import element_of, pointee, shape_of
from girih.dialects.types import buffer_parts, byte_width

# How many elements the largest tensor of a batch of programs has at most.
_BATCH = 1 << 19

VALUES = {
    "bf16": np.float32,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "i8": np.int8,
}
"""How elements of each type are held."""

RULES: dict[str, Callable] = {}
"""Makers of steps by op: each takes an op and gives a function of (run, operands)."""


class DeviceAssertion(RuntimeError):
    """An assertion of a kernel failed: the device would have stopped."""


@dataclass
class Run:
    """A batch of programs on its way.

    Attributes:
        memory: what they read and write.
        programs: their numbers.
        grid: how many programs there are in all.
        active: which of them take part in the current loop step or branch.
        values: what is known so far.
    """

    memory: Memory
    programs: np.ndarray
    grid: int
    active: np.ndarray
    values: dict[int, object] = field(default_factory=dict)

    def lanes(self, mask: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
        """Which lanes of a tensor are accessed: [programs, *shape]."""
        count = len(self.programs)
        active = self.active.reshape((-1,) + (1,) * len(shape))
        whole = active if mask is None else active & mask
        return np.broadcast_to(whole, (count, *shape))


@dataclass(frozen=True)
class Step:
    """One op: what it does, with the numbers of its operands and results."""

    action: Callable
    operands: tuple[int, ...]
    results: tuple[int, ...]
    types: tuple[Result, ...]


@dataclass(frozen=True)
class Result:
    """What is checked of a result.

    Attributes:
        element: the name of its element type, None for pointers.
        shape: its sizes, without that of the programs.
    """

    element: str | None
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Body:
    """A block: its steps, the numbers of its arguments, and of what it gives."""

    steps: tuple[Step, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]

    def __call__(self, run: Run, arguments: Sequence) -> list:
        """Runs the block."""
        values = run.values
        values.update(zip(self.arguments, arguments, strict=True))
        for step in self.steps:
            given = step.action(run, *[values[number] for number in step.operands])
            given = given if isinstance(given, list) else [given]
            for number, type_, value in zip(
                step.results, step.types, given, strict=True
            ):
                values[number] = typed(value, type_)
        return [values[number] for number in self.results]


def typed(value: object, type_: Result) -> object:
    """A value in its type, whose sizes it must have."""
    held = value.offsets if isinstance(value, Pointers) else value
    assert held.shape[1:] == type_.shape, (held.shape, type_)
    if type_.element is None:
        return value
    if type_.element == "bf16":
        return rounded(value.astype(np.float32, copy=False), 16)
    return value.astype(VALUES[type_.element], copy=False)


def rounded(values: np.ndarray, dropped: int) -> np.ndarray:
    """float32 rounded to nearest even with so many bits less: 16 for bf16."""
    values = np.ascontiguousarray(values)
    bits = values.view(np.uint32).astype(np.uint64)
    odd = (bits >> dropped) & 1
    bits = (bits + ((1 << (dropped - 1)) - 1) + odd) >> dropped << dropped
    result = bits.astype(np.uint32).view(np.float32)
    return np.where(np.isnan(values), values, result)


# Functions ------------------------------------------------------------------------


class Translator:
    """Makes steps of ops; values get numbers as they come."""

    def __init__(self) -> None:
        self._numbers: dict[ir.Value, int] = {}

    def number(self, value: ir.Value) -> int:
        """The number of a value."""
        return self._numbers.setdefault(value, len(self._numbers))

    def numbers(self, values: Sequence[ir.Value]) -> tuple[int, ...]:
        """The numbers of values."""
        return tuple(map(self.number, values))

    def body(self, block: ir.Block) -> Body:
        """A block as steps; its terminator says what it gives."""
        *ops, last = [op.operation for op in block.operations]
        arguments = self.numbers(block.arguments)
        steps = tuple(map(self.step, ops))
        return Body(steps, arguments, self.numbers(last.operands))

    def step(self, op: ir.Operation) -> Step:
        """An op as a step."""
        if op.name not in RULES:
            raise NotImplementedError(f"the interpreter of Triton IR has no {op.name}")
        bodies = [self.body(region.blocks[0]) for region in op.regions if region.blocks]
        action = RULES[op.name](op, *bodies)
        types = tuple(result_of(result.type) for result in op.results)
        return Step(action, self.numbers(op.operands), self.numbers(op.results), types)


def result_of(type_: ir.Type) -> Result:
    """What is checked of a value of this type."""
    element = element_of(type_)
    name = None if pointee(element) else str(element)
    return Result(name, shape_of(type_))


class Function:
    """A function of Triton IR that can be launched.

    Args:
        text: a module with one ``tt.func``, as `tt.program_texts` gives it.

    Attributes:
        name: of the function.
        alignments: what each pointer must be a multiple of.
    """

    def __init__(self, text: str):
        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            (op,) = module.body.operations
            self.name = op.sym_name
            self._read_arguments(op)
            self._body = Translator().body(op.block)
            self._widest = max(_widest(op), 1)
            self._has_sets = _chooses_pointers(op)

    def _read_arguments(self, op: tt.TtOp) -> None:
        """What is known of the arguments: from `girih.arguments`."""
        known = op.attributes["girih.arguments"]
        buffers = [ir.Type.parse(item.value) for item in known["buffers"]]
        self._symbols = [item.value for item in known["symbols"]]
        self._views = [View(type_) for type_ in buffers]
        self._outputs = known["outputs"].value
        self._types = [result_of(a.type) for a in op.block.arguments]
        pointees = [pointee(a.type) for a in op.block.arguments]
        self._pointees = [None if type_ is None else str(type_) for type_ in pointees]
        launch = op.attributes["girih.launch"]
        self._workspace_bytes = launch["workspace_bytes"].value
        self.alignments = [_alignment(known) for known in op.attributes["arg_attrs"]]

    @property
    def argument_count(self) -> int:
        """How many arguments it takes."""
        return len(self._types)

    def __call__(self, grid: int, arguments: Sequence[int]) -> None:
        """Runs so many programs on addresses and sizes, in the function's order.

        Raises:
            MemoryFault: an access is outside of its buffer, or a race.
            DeviceAssertion: an assertion of the function failed.
        """
        buffers = self._buffers(arguments)
        self._spoil_outputs(buffers, arguments)
        memory = Memory(buffers)
        values = [*self._pointers(buffers), *self._scalars(arguments)]
        if self._workspace_bytes:
            values.append(Pointers(buffers[-1], np.zeros(1, np.int64), "i8"))
        # Programs that choose between buffers run one by one: each has its own.
        batch = 1 if self._has_sets else max(1, _BATCH // self._widest)
        with np.errstate(all="ignore"):
            for start in range(0, grid, batch):
                programs = np.arange(start, min(start + batch, grid), dtype=np.int32)
                active = np.ones(len(programs), np.bool_)
                self._body(Run(memory, programs, grid, active), values)

    def _buffers(self, arguments: Sequence[int]) -> list[Buffer]:
        count = len(self._views)
        sizes = dict(zip(self._symbols, arguments[count:], strict=False))
        buffers = []
        for number, view in enumerate(self._views):
            address, alignment = arguments[number], self.alignments[number]
            name = f"argument {number} of {self.name}"
            if address % alignment:
                raise MemoryFault(f"{name} is at no multiple of {alignment}")
            buffers.append(Buffer.at(name, address, view.bytes(sizes)))
        if self._workspace_bytes:
            address = arguments[count + len(self._symbols)]
            if address % self.alignments[-1]:
                raise MemoryFault(f"the workspace of {self.name} is not aligned")
            buffers.append(Buffer.at("workspace", address, self._workspace_bytes))
        return buffers

    def _spoil_outputs(
        self, buffers: Sequence[Buffer], arguments: Sequence[int]
    ) -> None:
        """Fills what the first grid of a kernel will write, and does not read."""
        if not self.name.endswith("_0"):
            return
        if self._workspace_bytes:
            buffers[-1].data[...] = 0xFF
        count = len(self._views)
        sizes = dict(zip(self._symbols, arguments[count:], strict=False))
        first = count - self._outputs
        for view, buffer in zip(self._views[first:], buffers[first:count], strict=True):
            is_read = any(buffer.overlaps(other) for other in buffers[:first])
            if not is_read:
                view.of(buffer, sizes)[...] = 0xFF

    def _pointers(self, buffers: Sequence[Buffer]) -> list[Pointers]:
        return [
            Pointers(buffer, np.zeros(1, np.int64), element)
            for buffer, element in zip(buffers, self._pointees, strict=False)
        ][: len(self._views)]

    def _scalars(self, arguments: Sequence[int]) -> list[np.ndarray]:
        first = len(self._views)
        last = first + len(self._symbols)
        return [
            np.array([number]).astype(VALUES[type_.element])
            for number, type_ in zip(
                arguments[first:last], self._types[first:last], strict=True
            )
        ]


def _alignment(known: ir.DictAttr) -> int:
    return known["tt.divisibility"].value if "tt.divisibility" in known else 1


class View:
    """Which bytes of memory a buffer consists of."""

    def __init__(self, type_: ir.Type):
        self._parts = buffer_parts(type_)
        self._width = byte_width(self._parts.element_type)

    def _extents(self, sizes: dict) -> tuple[list[int], list[int]]:
        shape = [dims.evaluate(size, sizes) for size in self._parts.shape]
        strides = [dims.evaluate(stride, sizes) for stride in self._parts.strides]
        return shape, strides

    def bytes(self, sizes: dict) -> int:
        """How many there are from the first element to the last, for sizes."""
        shape, strides = self._extents(sizes)
        last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        return 0 if 0 in shape else (last + 1) * self._width

    def of(self, buffer: Buffer, sizes: dict) -> np.ndarray:
        """The bytes of the elements alone: [*sizes, bytes of an element]."""
        shape, strides = self._extents(sizes)
        steps = [stride * self._width for stride in strides]
        return np.lib.stride_tricks.as_strided(
            buffer.data, (*shape, self._width), (*steps, 1)
        )


def _chooses_pointers(function: ir.OpView) -> bool:
    """Whether a function takes pointers from branches."""
    results = [
        result
        for op in function.block.operations
        if op.operation.name == "scf.if"
        for result in op.results
    ]
    return any(pointee(result.type) is not None for result in results)


def _widest(function: ir.OpView) -> int:
    """The number of elements of the largest tensor."""
    largest = 1

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal largest
        sizes = [math.prod(shape_of(result.type)) for result in op.results]
        largest = max([largest, *sizes])
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return largest
