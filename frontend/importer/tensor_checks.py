"""What the importer takes: kinds of tensors, and calls that eager takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from girih.errors import unsupported
from girih.frontend.fake.acceptance import refusal_of
from girih.frontend.importer.builder import Spec
from girih.frontend.importer.elements import ELEMENT_NAMES
from girih.frontend.importer.symbols import Symbols

_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter, FakeTensor)


def check_tensor(tensor: torch.Tensor) -> None:
    """Raises where a tensor is of a kind that girih does not compile."""
    if tensor.layout is not torch.strided:
        unsupported(
            kind="tensor layout",
            context=str(tensor.layout),
            explanation="girih compiles dense tensors only.",
        )
    if tensor.dtype not in ELEMENT_NAMES:
        unsupported(
            kind="tensor dtype",
            context=str(tensor.dtype),
            explanation="girih has no element type for it.",
        )
    if tensor.device.type not in ("cpu", "cuda"):
        unsupported(
            kind="tensor device",
            context=str(tensor.device),
            explanation="girih compiles for CPU and CUDA only.",
        )
    if tensor._is_zerotensor():
        unsupported(
            kind="tensor of zeros without memory",
            explanation="Kernels read memory, and the tensor has none.",
        )
    if type(tensor) not in _PLAIN_TYPES and is_traceable_wrapper_subclass(tensor):
        unsupported(
            kind="tensor subclass",
            context=type(tensor).__name__,
            explanation="girih compiles plain tensors only.",
        )


def check_constant(tensor: torch.Tensor) -> None:
    """Raises where a tensor can't be an argument that the program brings itself."""
    check_tensor(tensor)
    if tensor.is_conj() or tensor.is_neg():
        unsupported(
            kind="lazily conjugated or negated tensor",
            explanation="Its memory does not hold its values.",
        )


def check_values(func, values, specs, symbols: Symbols) -> None:
    """Raises where a rule gives another dtype or shape than eager."""
    for value, spec in zip(values, specs, strict=True):
        if value.dtype != spec.dtype or not symbols.same(value.shape, spec.shape):
            raise AssertionError(
                f"girih bug: the import rule of {func} gives {value.dtype} "
                f"{value.shape}, eager gives {spec.dtype} {spec.shape}"
            )


def check_resized(
    func: torch._ops.OpOverload, specs: Sequence[Spec], is_alone: bool
) -> None:
    """Raises where a tensor that is resized can't simply be another value.

    Where its elements would not lie in rows, kernels differ in where they put them.
    """
    if not is_alone or any(spec.strides is not None for spec in specs):
        unsupported(
            kind="write that resizes",
            context=str(func),
            explanation=(
                "Compiled code cannot resize memory that other tensors share, and "
                "it gives a resized tensor contiguous strides."
            ),
        )


def check_acceptance(func: torch._ops.OpOverload, args: Any, kwargs: Any) -> None:
    """Leaves a call to eager that eager refuses: it will raise its own error."""
    if (error := refusal_of(func, args, kwargs)) is not None:
        unsupported(
            kind="operation that eager refuses",
            context=f"{func}: {type(error).__name__}: {error}",
            explanation="Kernels of ATen do not take these dtypes.",
        )
