"""How ``graph`` is evaluated with torch: the table of rules, values and symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from girih.dialects import dims, keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim

DTYPES = {
    "i1": torch.bool,
    "ui8": torch.uint8,
    "ui16": torch.uint16,
    "ui32": torch.uint32,
    "ui64": torch.uint64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "complex<f16>": torch.complex32,
    "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128,
}


class UnknownOp(Exception):
    """There is no rule for an op of this name."""


RULES: dict[str, Callable] = {}


def evaluates(*names: str):
    """Registers the evaluation of ops: ``rule(state, op, *operands)``."""

    def register(function: Callable) -> Callable:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return register


class State:
    """Values and symbols of one evaluation."""

    def __init__(self, precise: bool):
        self.precise = precise
        self.symbols: dict[str, int] = {}
        self.values: dict[ir.Value, Any] = {}

    def number(self, size: int | Dim) -> int:
        """The value of a size."""
        return dims.evaluate(size, self.symbols) if isinstance(size, Dim) else size

    def shape(self, type_: ir.Type) -> tuple[int, ...]:
        """The sizes of a tensor of a type."""
        return tuple(self.number(size) for size in ty.shape_of(type_))

    def dtype(self, type_: ir.Type) -> torch.dtype:
        """The dtype of a tensor of a type."""
        dtype = DTYPES[str(ty.element_of(type_))]
        return torch.float64 if self.precise and dtype.is_floating_point else dtype

    def bind(self, argument: ir.Value, value: Any, attributes: Any) -> None:
        """Binds an argument and the symbols that it shows."""
        self.values[argument] = value
        if not isinstance(value, Tensor):
            if attributes is not None and keys.SYMBOL in attributes:
                self.symbols[attributes[keys.SYMBOL].value] = value
            return
        if self.precise and value.is_floating_point():
            self.values[argument] = value.double()
        sizes = zip(ty.shape_of(argument.type), value.shape, strict=True)
        for size, actual in sizes:
            if isinstance(size, Dim) and str(size).isidentifier():
                self.symbols.setdefault(str(size), actual)

    def run(self, block: ir.Block) -> list:
        """Evaluates a block; returns the operands of its terminator."""
        for op in block.operations:
            operands = [self.values[value] for value in op.operands]
            if op.operation.name in ("func.return", "graph.yield"):
                return operands
            results = self.evaluate(op, operands)
            for value, result in zip(op.results, results, strict=True):
                self.values[value] = result
        raise AssertionError("a block without terminator")

    def evaluate(self, op: Any, operands: list) -> list:
        """The results of one op."""
        if op.operation.name.removeprefix("graph.") not in RULES:
            raise UnknownOp(op.operation.name)
        results = RULES[op.operation.name.removeprefix("graph.")](self, op, *operands)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        for value, result in zip(op.results, results, strict=True):
            if isinstance(result, Tensor):
                self.check(op, value.type, result)
        return results

    def check(self, op: Any, type_: ir.Type, result: Tensor) -> None:
        """The types of the module must be true."""
        expected = self.shape(type_), self.dtype(type_)
        assert (tuple(result.shape), result.dtype) == expected, f"{op}: got {result}"
