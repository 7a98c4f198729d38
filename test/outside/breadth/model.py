"""What a library's file gives for each of its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

Call = tuple[tuple, Mapping[str, Any]]
"""Positional and keyword arguments."""

BATCHES = ((2, 32), (3, 24), (4, 40))
"""Batch sizes and sequence lengths. A model takes of both what its input has."""


@dataclass(frozen=True)
class Model:
    """A model with its inputs.

    Attributes:
        module: Tiny or the smallest of its kind, with random weights.
        inputs: Makes the arguments for a batch size and a sequence length, the same
            ones each time.
        sizes: What ``inputs`` is called with. The first one is used where a single
            one is enough.
    """

    module: torch.nn.Module
    inputs: Callable[[int, int], Call]
    sizes: Sequence[tuple[int, int]] = BATCHES


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    """Random numbers that are the same each time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def integers(low: int, high: int, *shape: int, seed: int = 1) -> torch.Tensor:
    """Random integers that are the same each time."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator)


def images(*shape: int, batches: Sequence[int] = (2, 3, 4)) -> dict[str, Any]:
    """The fields of a ``Model`` that takes one batch of images."""
    return {
        "inputs": lambda batch, _: ((normal(batch, *shape),), {}),
        "sizes": [(batch, 0) for batch in batches],
    }
