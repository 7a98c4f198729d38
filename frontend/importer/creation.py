"""Import rules of new tensors."""

from __future__ import annotations

from typing import Any

import torch

from girih.dialects.dims import Dim
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.elements import is_integral
from girih.frontend.importer.registry import imports


def _filled(b: Builder, number) -> Operand:
    return b.full(b.out[0].shape, number, b.out[0].dtype)


@imports(
    "_efficientzerotensor",
    "zeros",
    "zeros_like",
    "new_zeros",
    "zero",
    # The content of new memory is not defined: zeros are as good as any.
    "empty.memory_format",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
)
def zeros(b: Builder, *args, **kwargs):
    """Zeros."""
    return _filled(b, 0)


@imports("ones", "ones_like", "new_ones")
def ones(b: Builder, *args, **kwargs):
    """Ones."""
    return _filled(b, 1)


@imports("full", "full_like")
def full(b: Builder, like, fill_value, **options):
    """One number everywhere."""
    return _filled(b, fill_value)


@imports("new_full")
def new_full(b: Builder, self, size, fill_value, **options):
    """One number everywhere."""
    return _filled(b, fill_value)


@imports("fill.Scalar")
def fill(b: Builder, self, value):
    """One number everywhere."""
    return _filled(b, value)


@imports("fill.Tensor")
def fill_tensor(b: Builder, self, value):
    """The element of a tensor everywhere."""
    return b.broadcast_to(b.cast(value, self.dtype), self.shape)


@imports("scalar_tensor")
def scalar_tensor(b: Builder, s, **options):
    """One number."""
    return _filled(b, s)


@imports("arange")
def arange(b: Builder, end, **options):
    """0, 1, ..."""
    return arange_step(b, 0, end)


@imports("arange.start")
def arange_start(b: Builder, start, end, **options):
    """start, start + 1, ..."""
    return arange_step(b, start, end)


@imports("arange.start_step")
def arange_step(b: Builder, start, end, step=1, **options):
    """start, start + step, ..."""
    spec = b.out[0]
    numbers = (start, step)
    if isinstance(step, Dim):
        return NotImplemented
    if is_integral(spec.dtype):
        if any(isinstance(number, float) for number in numbers):
            return NotImplemented
    elif isinstance(start, Dim) or not _is_exact(spec, start, step):
        return NotImplemented
    else:
        start, step = float(start), float(step)
    return b.iota(spec.shape[0], spec.dtype, start, step)


def _is_exact(spec: Any, start: float, step: float) -> bool:
    """Whether no number is rounded: ATen adds up those that are in an order of its own.

    Integers of float32 and more are taken for exact if their number is symbolic.
    """
    if not float(start).is_integer() or not float(step).is_integer():
        return False
    most, count = 2 / torch.finfo(spec.dtype).eps, spec.shape[0]
    if isinstance(count, int):
        return max(abs(start), abs(start + step * count)) <= most
    return spec.dtype not in (torch.float16, torch.bfloat16)


@imports("eye", "eye.m")
def eye(b: Builder, *args, **options):
    """Ones on the diagonal, else zeros."""
    spec = b.out[0]
    rows = b.iota_along(spec.shape, 0)
    columns = b.iota_along(spec.shape, 1)
    diagonal = b.compare("eq", rows, columns)
    if spec.dtype == torch.bool:
        return diagonal
    return b.cast(diagonal, spec.dtype)
