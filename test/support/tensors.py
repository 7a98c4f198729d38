"""Input tensors for tests: shapes, memory layouts, values."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ALL = (*FLOATS, *INTEGERS, torch.bool)

SHAPES = ((), (0,), (1,), (7,), (1009,), (3, 0, 5), (2, 3, 5), (64, 129), (40009,))
"""None, one, primes, more than a vector, more than a thread's share."""

_SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e5, -1e5, 1e-30, float("inf"), -float("inf"))
_SPECIAL += (float("nan"),)


def normal(shape, dtype, *, special: bool = False, scale: float = 3.0) -> Tensor:
    """Random values of any dtype.

    Args:
        shape: Sizes.
        dtype: Floats are normal with the given scale; integers lie between -11 and
            11, or 0 and 22; bools are fair.
        special: Put zeros, infinities and NaN among the floats, and the extreme
            values among the integers.
        scale: Standard deviation of floats.
    """
    if dtype == torch.bool:
        return torch.randint(2, shape, dtype=torch.bool)
    if dtype.is_floating_point:
        values = (torch.randn(shape) * scale).to(dtype)
        return _with_special(values, _SPECIAL) if special else values
    low = 0 if dtype == torch.uint8 else -11
    values = torch.randint(low, low + 23, shape, dtype=dtype)
    info = torch.iinfo(dtype)
    return _with_special(values, (0, 1, info.min, info.max)) if special else values


def _with_special(values: Tensor, special) -> Tensor:
    if values.numel() < 2 * len(special):
        return values
    flat = values.flatten()
    places = torch.randperm(len(flat))[: len(special)]
    flat[places] = torch.tensor(special, dtype=values.dtype)
    return flat.view(values.shape)


def contiguous(x: Tensor) -> Tensor:
    """The tensor as it is."""
    return x


def transposed(x: Tensor) -> Tensor:
    """Equal values; the dims lie in memory in reverse order."""
    order = tuple(reversed(range(x.dim())))
    return x.permute(order).contiguous().permute(order)


def strided(x: Tensor) -> Tensor:
    """Equal values at every second place of a larger storage."""
    if not x.dim():
        return x
    wide = x.new_zeros((*x.shape[:-1], 2 * x.shape[-1]))
    wide[..., ::2] = x
    return wide[..., ::2]


def offset(x: Tensor) -> Tensor:
    """Equal values, three elements into a larger storage."""
    storage = x.new_zeros(x.numel() + 5)
    view = storage[3 : 3 + x.numel()].view(x.shape)
    view.copy_(x)
    return view


def expanded(x: Tensor) -> Tensor:
    """The first entry of the first dim, repeated with stride 0."""
    if not x.dim() or not x.shape[0]:
        return x
    return x[:1].expand(x.shape)


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    layout.__name__: layout
    for layout in (contiguous, transposed, strided, offset, expanded)
}


def positive(x: Tensor) -> Tensor:
    """Absolute values, well above zero; for variances and scales."""
    return x.abs() + 0.5
