"""Eager as the reference, without what it is known to get wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
import torch.nn.functional as F


@contextmanager
def right_derivatives() -> Iterator[None]:
    """Norms, ``F.hardsigmoid`` and ``F.hardswish`` of the block are right."""
    changed = {
        "batch_norm": _right_norm,
        "instance_norm": _right_norm,
        "hardsigmoid": _right_hardsigmoid,
        "hardswish": _right_hardswish,
    }
    originals = {name: getattr(F, name) for name in changed}
    for name, right in changed.items():
        setattr(F, name, right(originals[name]))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(F, name, original)


def _right_norm(original: Callable) -> Callable:
    """Batch and instance norms get gradients that lie row by row.

    Of one image, ATen's backward pass of a batch norm in training misreads a gradient
    in which the channels lie beside each other (torch 2.13, on the CPU): it disagrees
    with finite differences. Where it lies row by row, or there are several images, it
    agrees. An instance norm is one of all images as one.
    """

    @wraps(original)
    def norm(*args: Any, **kwargs: Any) -> torch.Tensor:
        result = original(*args, **kwargs)
        if result.requires_grad:
            result.register_hook(torch.Tensor.contiguous)
        return result

    return norm


def _right_hardsigmoid(original: Callable) -> Callable:
    """The derivative is 1/6, also in float64.

    ATen's is the float32 that is nearest to it, ``1.0f / 6.0f``, on the CPU and on
    GPUs (torch 2.13): 3e-8 from it. Gradients of all layers below inherit that.
    """

    @wraps(original)
    def hardsigmoid(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
        if input.dtype != torch.float64:
            return original(input, inplace)
        result = F.relu6(input + 3) / 6
        return input.copy_(result) if inplace else result

    return hardsigmoid


def _right_hardswish(original: Callable) -> Callable:
    """``x * relu6(x + 3) / 6``, also in float64.

    On GPUs ATen multiplies by the float32 that is nearest to 1/6 (torch 2.11): results
    are 3e-8 from it.
    """

    @wraps(original)
    def hardswish(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
        if input.dtype != torch.float64:
            return original(input, inplace)
        x = input.clone() if inplace else input
        result = x * F.relu6(x + 3) / 6
        return input.copy_(result) if inplace else result

    return hardswish
