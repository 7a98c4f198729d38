"""Philox4x32-10 as its authors write it, on whole tensors; programs that use it.

Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from girih.frontend.importer import importer
from girih.frontend.importer.seeds import Seeds

MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def block(counter: Sequence, key: Sequence) -> list[np.ndarray]:
    """Four words of counters (four words, arrays of 64 bits) under keys (two)."""
    words = [np.asarray(word, np.uint64) for word in counter]
    key = [np.asarray(word, np.uint64) for word in key]
    for _ in range(10):
        first = words[0] * np.uint64(0xD2511F53)
        second = words[2] * np.uint64(0xCD9E8D57)
        words = [
            (second >> HALF) ^ words[1] ^ key[0],
            second & MASK,
            (first >> HALF) ^ words[3] ^ key[1],
            first & MASK,
        ]
        steps = (0x9E3779B9, 0xBB67AE85)
        key = [
            (word + np.uint64(step)) & MASK
            for word, step in zip(key, steps, strict=True)
        ]
    return words


def words(seed: int, index: Tensor) -> Tensor:
    """What ``graph.philox`` gives for a seed and places in its stream."""
    place = index.numpy().astype(np.uint64)
    number = place >> np.uint64(2)
    key = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    zero = np.zeros_like(number)
    found = np.stack(block([number & MASK, number >> HALF, zero, zero], key))
    lane = (place & np.uint64(3)).astype(np.int64)[None]
    chosen = np.take_along_axis(found, lane, 0)[0]
    return torch.from_numpy(chosen.astype(np.uint32))


@contextmanager
def made_of_seeds() -> Iterator[None]:
    """Programs of CPU tensors make random numbers of seeds meanwhile, as for GPUs."""
    with mock.patch.object(importer._Import, "_seeds", lambda self: Seeds()):
        yield


def seeds(count: int, device: torch.device | str = "cpu") -> list[int]:
    """The seeds that a program with this many random ops draws now."""
    info = torch.iinfo(torch.int64)
    return torch.randint(info.min, info.max, (count,), device=device).tolist()
