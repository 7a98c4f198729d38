"""Eager as the reference, without the derivative that it is known to get wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
import torch.nn.functional as F


@contextmanager
def right_batch_norms() -> Iterator[None]:
    """Batch norms of the block get gradients that lie row by row.

    Of one image, ATen's backward pass of a batch norm in training misreads a gradient
    in which the channels lie beside each other (torch 2.13, on the CPU): it disagrees
    with finite differences. Where it lies row by row, or there are several images, it
    agrees.
    """
    original = F.batch_norm

    @wraps(original)
    def batch_norm(*args: Any, **kwargs: Any) -> torch.Tensor:
        result = original(*args, **kwargs)
        if result.requires_grad:
            result.register_hook(torch.Tensor.contiguous)
        return result

    F.batch_norm = batch_norm
    try:
        yield
    finally:
        F.batch_norm = original
