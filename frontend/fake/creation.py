"""Shape rules of new tensors and random numbers."""

from __future__ import annotations

import math

import torch

from girih.frontend.fake.layout import preserved_strides
from girih.frontend.fake.promotion import scalar_dtype
from girih.frontend.fake.rules import Result, shape_rule


def _plain(layout, pin_memory, memory_format=None):
    formats = (None, torch.contiguous_format, torch.preserve_format)
    strided = layout in (None, torch.strided)
    return strided and not pin_memory and memory_format in formats


@shape_rule("zeros", "ones", "rand", "randn")
def _sized(size, dtype=None, layout=None, device=None, pin_memory=None):
    if not _plain(layout, pin_memory):
        return NotImplemented
    return Result(tuple(size), dtype or torch.get_default_dtype())


@shape_rule("empty.memory_format")
def _empty(
    size, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    if not _plain(layout, pin_memory, memory_format):
        return NotImplemented
    return Result(tuple(size), dtype or torch.get_default_dtype())


@shape_rule("full")
def _full(size, fill_value, dtype=None, layout=None, device=None, pin_memory=None):
    if not _plain(layout, pin_memory):
        return NotImplemented
    return Result(tuple(size), dtype or scalar_dtype(fill_value))


@shape_rule("eye")
def _eye(n, dtype=None, layout=None, device=None, pin_memory=None):
    return _eye_of_columns(n, n, dtype, layout, device, pin_memory)


@shape_rule("eye.m")
def _eye_of_columns(n, m, dtype=None, layout=None, device=None, pin_memory=None):
    return _sized((n, m), dtype, layout, device, pin_memory)


@shape_rule("fill.Scalar", "zero")
def _fill(self, value=0):
    return Result(tuple(self.size()), self.dtype, preserved_strides(self))


@shape_rule("fill.Tensor")
def _fill_tensor(self, value):
    return _fill(self) if value.dim() == 0 else NotImplemented


@shape_rule("randint", "randint.generator")
def _randint(
    high, size, generator=None, dtype=None, layout=None, device=None, pin_memory=None
):
    return _sized(size, dtype or torch.int64, layout, device, pin_memory)


@shape_rule("randint.low", "randint.low_generator")
def _randint_from(low, high, size, **options):
    return _randint(high, size, **options)


@shape_rule("randperm", "randperm.generator")
def _randperm(n, generator=None, dtype=None, layout=None, device=None, pin_memory=None):
    if n < 0:
        return NotImplemented
    return _sized((n,), dtype or torch.int64, layout, device, pin_memory)


@shape_rule("scalar_tensor")
def _scalar_tensor(s, dtype=None, layout=None, device=None, pin_memory=None):
    if not _plain(layout, pin_memory):
        return NotImplemented
    return Result((), dtype or torch.get_default_dtype())


@shape_rule("arange")
def _arange(end, dtype=None, layout=None, device=None, pin_memory=None):
    return _arange_step(0, end, 1, dtype, layout, device, pin_memory)


@shape_rule("arange.start")
def _arange_start(start, end, dtype=None, layout=None, device=None, pin_memory=None):
    return _arange_step(start, end, 1, dtype, layout, device, pin_memory)


@shape_rule("arange.start_step")
def _arange_step(
    start, end, step=1, dtype=None, layout=None, device=None, pin_memory=None
):
    bounds = (start, end, step)
    integral = all(isinstance(bound, (int, torch.SymInt)) for bound in bounds)
    if not _plain(layout, pin_memory) or step == 0:
        return NotImplemented
    if dtype == torch.bool:
        kernel = f"arange_{torch.device(device or 'cpu').type}"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    if not integral and dtype == torch.int64:
        # As ATen: the numbers lose their fractions first, here alone.
        if any(isinstance(bound, torch.SymFloat) for bound in bounds):
            return NotImplemented
        start, end, step = (int(bound) for bound in bounds)
        if step == 0:
            return NotImplemented
    if integral or dtype == torch.int64:
        count = (end - start + step - (1 if step > 0 else -1)) // step
    else:
        count = math.ceil((end - start) / step)
    # The count may be 0 here, as -1 // -2 is.
    if end - start < 0 if step > 0 else end - start > 0:
        return NotImplemented
    dtype = dtype or (torch.int64 if integral else torch.get_default_dtype())
    return Result((count,), dtype)


@shape_rule("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like")
def _like(
    self, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    if not _plain(layout, pin_memory, memory_format):
        return NotImplemented
    stride = None
    if memory_format is not torch.contiguous_format:
        stride = preserved_strides(self)
    return Result(tuple(self.size()), dtype or self.dtype, stride)


@shape_rule("full_like")
def _full_like(self, fill_value, **options):
    return _like(self, **options)


@shape_rule("randint_like", "randint_like.generator")
def _randint_like(self, high, generator=None, **options):
    return _like(self, **options)


@shape_rule("randint_like.low_dtype", "randint_like.low_generator_dtype")
def _randint_like_from(self, low, high, generator=None, **options):
    return _like(self, **options)


@shape_rule("new_zeros", "new_ones", "new_empty")
def _new(self, size, dtype=None, layout=None, device=None, pin_memory=None):
    if not _plain(layout, pin_memory):
        return NotImplemented
    return Result(tuple(size), dtype or self.dtype)


@shape_rule("new_full")
def _new_full(
    self, size, fill_value, dtype=None, layout=None, device=None, pin_memory=None
):
    return _new(self, size, dtype, layout, device, pin_memory)


@shape_rule("bernoulli.p", "bernoulli")
def _bernoulli(self, p=0.5, generator=None):
    return Result(tuple(self.size()), self.dtype)
