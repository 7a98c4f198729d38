"""Evaluation of launch programs: buffers are tensors, each launch runs its kernel.

Memory that nothing has written yet holds NaN, so that reading it shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from girih.codegen.runtime import torch_entry
from girih.dialects import keys
from girih.dialects.attributes import ItemRef
from girih.dialects.bindings import ir
from girih.dialects.types import buffer_parts, is_buffer
from girih.evaluation import kernels, native
from girih.evaluation.composites import argument_of, tensors_of
from girih.evaluation.state import State, UnknownOp

MOST_OPS = 2_000_000
"""How many ops of one scheduled kernel may run: about 10 seconds."""


class FailedCheck(Exception):
    """A check of a kernel failed."""


def evaluate(module: Any, inputs: Sequence, *, most_ops: float = MOST_OPS) -> list:
    """The results of ``@main``, a launch program; writes to inputs that it writes.

    Args:
        module: With the kernels that it launches.
        inputs: Tensors on the CPU, and numbers.
        most_ops: How many ops of one kernel may run.

    Raises:
        FailedCheck: A check of a kernel failed.
        TooLong: More ops would run.
        UnknownOp: There is no rule for an op.
    """
    return _Program(module, most_ops).results(inputs)


class _Program:
    def __init__(self, module: Any, most_ops: float):
        self._most_ops = most_ops
        self._kernels: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        for op in module.operation.regions[0].blocks[0].operations:
            name = op.operation.name
            if name == "tile.kernel":
                self._kernels[op.sym_name] = op
            elif name == "llvm.func":
                self._functions[op.attributes["sym_name"].value] = op
            elif name == "func.func" and op.attributes["sym_name"].value == "main":
                self._main = op
        self._state = State(precise=False)
        self._memory = torch.empty(0, dtype=torch.uint8)

    def results(self, inputs: Sequence) -> list:
        block = self._main.regions[0].blocks[0]
        attributes = self._main.attributes
        given = attributes["arg_attrs"] if "arg_attrs" in attributes else None
        for number, argument in enumerate(block.arguments):
            own = {} if given is None else given[number]
            self._bind(argument, inputs[number], own)
        with torch.no_grad():
            for op in block.operations:
                name = op.operation.name.removeprefix("host.")
                if name == "return":
                    return [self._state.values[value] for value in op.operands]
                getattr(self, f"_{name}", self._unknown)(op)
        raise AssertionError("a launch program without host.return")

    def _bind(self, argument: ir.Value, value: Any, given: Any) -> None:
        state = self._state
        if not is_buffer(argument.type):
            if keys.SYMBOL in given:
                state.symbols[given[keys.SYMBOL].value] = int(value)
            state.values[argument] = value
            return
        parts = buffer_parts(argument.type)
        if not isinstance(value, Tensor):
            dtype = torch_entry.dtype(str(parts.element_type))
            value = torch.full((), value, dtype=dtype)
        for size, actual in zip(parts.shape, value.shape, strict=True):
            if not isinstance(size, int) and str(size).isidentifier():
                state.symbols.setdefault(str(size), actual)
        state.values[argument] = value

    def _unknown(self, op: Any) -> None:
        raise UnknownOp(op.operation.name)

    def _laid_out(self, type_: ir.Type) -> tuple[tuple, tuple, torch.dtype]:
        parts, number = buffer_parts(type_), self._state.number
        shape, strides = (
            tuple(map(number, sizes)) for sizes in (parts.shape, parts.strides)
        )
        return shape, strides, torch_entry.dtype(str(parts.element_type))

    def _alloc(self, op: Any) -> None:
        shape, strides, dtype = self._laid_out(op.results[0].type)
        if op.workspace_offset is None:
            made = torch.empty_strided(shape, strides, dtype=dtype)
            _spoil(torch.as_strided(made, (_extent(made),), (1,)))
        else:
            start = self._state.number(op.workspace_offset)
            count = _extent_of(shape, strides) * dtype.itemsize
            memory = self._memory[start : start + count]
            if memory.numel() != count:
                raise AssertionError("a buffer reaches beyond its workspace")
            made = memory.view(dtype).as_strided(shape, strides)
        self._state.values[op.results[0]] = made

    def _workspace(self, op: Any) -> None:
        count = self._state.number(op.bytes)
        self._memory = torch.full((count,), 255, dtype=torch.uint8)

    def _view(self, op: Any) -> None:
        base = self._state.values[op.operands[0]]
        shape, strides, _ = self._laid_out(op.results[0].type)
        offset = base.storage_offset() + self._state.number(op.offset)
        self._state.values[op.results[0]] = base.as_strided(shape, strides, offset)

    def _copy(self, op: Any) -> None:
        source, target = (self._state.values[value] for value in op.operands)
        target.copy_(source)

    def _size(self, op: Any) -> None:
        self._state.values[op.results[0]] = self._state.number(op.expr)

    def _free(self, op: Any) -> None:
        """Nothing reads it again."""

    def _extern(self, op: Any) -> None:
        operands = [self._state.values[value] for value in op.operands]

        def given(value: Any) -> Any:
            if isinstance(value, tuple):
                return [given(item) for item in value]
            if isinstance(value, ItemRef):
                return operands[value.index].item()
            return argument_of(self._state, value, operands)

        args = [given(value) for value in op.args]
        kwargs = {name: given(value) for name, value in op.kwargs.items()}
        made = tensors_of(torch_entry.entry(op.op)(*args, **kwargs))
        if not op.results:
            return
        for value, tensor in zip(op.results, made, strict=True):
            shape, strides, _ = self._laid_out(value.type)
            if tuple(tensor.stride()) != strides and tensor.numel():
                placed = torch.empty_strided(shape, strides, dtype=tensor.dtype)
                tensor = placed.copy_(tensor)
            self._state.values[value] = tensor

    def _native(self, op: Any) -> None:
        if op.function in self._functions:
            self._call(op)
            return
        for launch in op.launches:
            self._launch(launch)

    def _call(self, op: Any) -> None:
        """Calls the function that a run of launches has become."""
        buffers = [self._state.values[value] for value in op.buffers]
        symbols = [self._state.number(size) for size in op.symbols]
        if not native.call(
            self._functions, op.function, buffers, symbols, self._most_ops
        ):
            raise FailedCheck(op.function)

    def _launch(self, op: Any) -> None:
        if op.kernel not in self._kernels:
            raise UnknownOp(op.kernel)
        kernel = self._kernels[op.kernel]
        buffers = [self._state.values[value] for value in op.operands]
        symbols = [self._state.number(size) for size in op.symbols]
        each = len(kernel.symbols)
        for number, own in enumerate(kernel.sets_of(buffers)):
            self._run(kernel, own, symbols[number * each : (number + 1) * each])

    def _run(self, kernel: Any, buffers: list[Tensor], symbols: list[int]) -> None:
        names = {op.operation.name for op in kernel.block.operations}
        if names & {"tile.read", "tile.write"}:
            self._run_unscheduled(kernel, buffers, symbols)
            return
        arrays = [_Array(buffer) for buffer in buffers]
        given = [*(array.elements for array in arrays), *symbols]
        device = keys.DEVICE in self._main.attributes
        if not kernels.run(
            kernel.operation, given, for_gpu=device, most_ops=self._most_ops
        ):
            raise FailedCheck(kernel.sym_name)
        for array in arrays:
            array.write_back()

    def _run_unscheduled(
        self, kernel: Any, buffers: list[Tensor], symbols: list[int]
    ) -> None:
        state = State(precise=False)
        state.symbols = dict(zip(kernel.symbols, symbols, strict=True))
        arguments = zip(kernel.block.arguments, [*buffers, *symbols], strict=True)
        state.values = dict(arguments)
        for op in kernel.block.operations:
            operands = [state.values[value] for value in op.operands]
            name = op.operation.name
            if name == "tile.write":
                value, buffer = operands
                buffer.copy_(value)
                continue
            if name == "tile.read":
                results = [operands[0].clone()]
            elif name == "tile.check":
                if not bool(torch.as_tensor(operands[0]).all()):
                    raise FailedCheck(kernel.sym_name)
                continue
            else:
                results = state.evaluate(op, operands)
            state.values.update(zip(op.results, results, strict=True))


class _Array:
    """A buffer as a kernel sees it: flat, from its first element on."""

    def __init__(self, tensor: Tensor):
        self._flat = torch.as_strided(
            tensor, (_extent(tensor),), (1,), tensor.storage_offset()
        )
        self._is_copy = self._flat.dtype == torch.bfloat16
        flat = self._flat.float() if self._is_copy else self._flat
        self.elements: np.ndarray = flat.numpy()

    def write_back(self) -> None:
        """Writes what the kernel wrote, where it saw a copy."""
        if self._is_copy:
            self._flat.copy_(torch.from_numpy(self.elements))


def _extent(tensor: Tensor) -> int:
    return _extent_of(tensor.shape, tensor.stride())


def _extent_of(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements there are from the first to the last one."""
    if not math.prod(shape):
        return 0
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def _spoil(flat: Tensor) -> None:
    if flat.dtype.is_floating_point or flat.dtype.is_complex:
        flat.fill_(math.nan)
    else:
        flat.fill_(1)
