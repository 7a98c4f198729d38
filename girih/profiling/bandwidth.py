"""How many bytes a second a copy reads and writes."""

from __future__ import annotations

import time
from functools import cache

import torch

_BYTES = {"cpu": 1 << 27, "cuda": 1 << 29}
"""Of each of the two tensors: more than caches of processors and devices hold."""
_COPIES = 5


def copy_bandwidth(device: torch.device) -> float:
    """Bytes per second, read and written, of the fastest of some copies.

    It is measured once in a process for each device and number of threads.
    """
    threads = torch.get_num_threads() if device.type == "cpu" else 0
    return _measured(device, threads)


@cache
def _measured(device: torch.device, threads: int) -> float:
    size = _BYTES[device.type]
    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.zeros_like(source)
    best = min(_seconds(source, target) for _ in range(_COPIES))
    return 2 * size / best


def _seconds(source: torch.Tensor, target: torch.Tensor) -> float:
    if source.device.type == "cpu":
        start = time.perf_counter()
        target.copy_(source)
        return time.perf_counter() - start
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.device(source.device):
        start.record()
        target.copy_(source)
        end.record()
        end.synchronize()
    return 1e-3 * start.elapsed_time(end)
