"""Batches of cotangents: those of ``torch.autograd.grad(..., is_grads_batched=True)``.

It runs the backward pass in torch's older ``vmap``, which has tensors of its own: they
show the sizes of one entry, and have numbers for the levels of batches in one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

_LEVELS = range(63, 0, -1)  # kVmapNumLevels of torch's LegacyBatchedTensorImpl.h

_is_batch = torch._C._functorch.is_legacy_batchedtensor
_enter = torch._C._vmapmode_increment_nesting
_leave = torch._C._vmapmode_decrement_nesting


def is_batch(tensors: Sequence[Tensor]) -> bool:
    """Whether one of the tensors is a batch."""
    return any(map(_is_batch, tensors))


@contextmanager
def outside_of_batches() -> Iterator[None]:
    """A block in which random numbers may be drawn, as outside of ``vmap``."""
    count = _enter() - 1
    for _ in range(count + 1):
        _leave()
    try:
        yield
    finally:
        for _ in range(count):
            _enter()


def entries_of(
    tensors: Sequence[Tensor],
) -> tuple[list[list[Tensor]], Callable[[Tensor], Tensor]]:
    """Takes the innermost batches apart.

    Args:
        tensors: One is a batch at least.

    Returns:
        For each entry the tensors, and what makes a batch of a tensor whose first dim
        are the entries.
    """
    level = next(n for n in _LEVELS if any(_has_level(x, n) for x in tensors))
    bare = [
        torch._remove_batch_dim(x, level, 1, 0) if _has_level(x, level) else None
        for x in tensors
    ]
    (count,) = {x.size(0) for x in bare if x is not None}
    pairs = list(zip(bare, tensors, strict=True))
    entries = [[x if b is None else b[n] for b, x in pairs] for n in range(count)]
    return entries, lambda made: torch._add_batch_dim(made, 0, level)


def _has_level(tensor: Tensor, level: int) -> bool:
    """Whether a tensor is a batch of a level: it has a size of its own there."""
    if not _is_batch(tensor):
        return False
    sizes = {torch._remove_batch_dim(tensor, level, n, 0).size(0) for n in (1, 2)}
    return len(sizes) == 1
