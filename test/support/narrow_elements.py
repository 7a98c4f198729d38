"""Programs on narrow elements: masks of one type for another, rows read backwards."""

from __future__ import annotations

import torch
from tensors import ALL, normal
from torch import Tensor

ELEMENTS = (*ALL, torch.uint16, torch.uint32)


def values(size: int, dtype: torch.dtype) -> Tensor:
    """Numbers around zero, of types that torch can't draw too."""
    if dtype in (torch.uint16, torch.uint32):
        return (torch.arange(size) % 5).to(dtype)
    return normal((size,), dtype, special=True)


def masks(x: Tensor, others: list[Tensor]) -> list[Tensor]:
    """What can become of comparisons of x; each size differs, so each is a kernel."""
    results = []
    for y in others:
        mask = x[: len(y)] != 0
        chosen = torch.where(mask, y, torch.zeros((), dtype=y.dtype))
        results += [mask.to(y.dtype), chosen, (~mask).to(y.dtype)]
    return results


def turned(images: list[Tensor]) -> list[Tensor]:
    """Rows read backwards, with gaps, and written so."""
    results = []
    for x in images:
        back = x.flip(-1)
        results += [back + 1, back.float() * 0.5, back.sum(-1), x[..., ::2] + 1]
        results.append(torch.where(back > 50, back, back * 2))
        results.append(torch.cat([back[..., :-1], x], -1) + 1)
    return results
