"""Imports an ATen op as a call of itself: ``graph.extern``."""

from __future__ import annotations

from typing import Any

import torch

from girih.dialects.attributes import ItemRef, OperandRef, TorchConstant
from girih.dialects.dims import Dim
from girih.errors import unsupported
from girih.frontend.importer.builder import Builder, Operand, Scalar
from girih.frontend.importer.elements import dtype_name


class _Encoder:
    """Turns arguments into their encoding and collects the operands."""

    def __init__(self, device: torch.device):
        self.operands: list[Operand] = []
        self._device = device

    def encode(self, value: Any) -> Any:
        """The form that ``attributes.encode_argument`` takes."""
        match value:
            case Operand():
                self.operands.append(value)
                return OperandRef(len(self.operands) - 1)
            case Scalar():
                self.operands.append(value.operand)
                return ItemRef(len(self.operands) - 1)
            case None | bool() | int() | float() | complex() | str() | Dim():
                return value
            case torch.dtype():
                return TorchConstant("dtype", dtype_name(value))
            case torch.device():
                # "cuda" alone is whichever device is current when the program runs.
                same = value.type == self._device.type
                return TorchConstant("device", str(self._device if same else value))
            case torch.layout():
                return TorchConstant("layout", str(value).removeprefix("torch."))
            case torch.memory_format():
                name = str(value).removeprefix("torch.")
                return TorchConstant("memory_format", name)
            case list() | tuple():
                return [self.encode(item) for item in value]
        unsupported(
            kind="argument of an operator",
            context=type(value).__name__,
            explanation="girih cannot pass a value of this type to an operator.",
        )


def build_extern(
    b: Builder,
    func: torch._ops.OpOverload | str,
    args: tuple,
    kwargs: dict,
    *,
    ordered: bool,
) -> tuple[Operand, ...]:
    """Makes the call.

    Args:
        b: The builder; ``b.out`` says what the results are.
        func: The overload to call, or the name of a function of girih's own.
        args: Its arguments, tensors as operands.
        kwargs: Its keyword arguments.
        ordered: Whether it has effects, such as drawing random numbers.

    Returns:
        The results that are tensors, in order.
    """
    encoder = _Encoder(b.device)
    attributes = {
        "op": str(func),
        "args": [encoder.encode(arg) for arg in args],
        "kwargs": {name: encoder.encode(arg) for name, arg in kwargs.items()},
    }
    if ordered:
        attributes["effects"] = True
    return tuple(b.library("extern", [encoder.operands], attributes))
