"""Times on a device and on its host, in alternating rounds.

[Note: the head start] Events that surround calls also count the time in which the
device waits for the host's first launch. So each sample begins with work that keeps the
device busy while the host runs ahead; after that a device is never idle, unless the
host needs more time for a call than the device does, which is then what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import torch

from benchmarks import measure
from benchmarks.measure import Timing

_HEAD_START_CYCLES = 600_000
_HOST_CALLS = 50
"""Calls between two waits for the device: few enough never to fill its queue."""


def synchronize(device: torch.device) -> None:
    """Waits until the device has done its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def device_times(
    functions: Mapping[str, Callable[[], object]],
    device: torch.device,
    *,
    seconds: float,
    head_start: bool = True,
) -> dict[str, Timing]:
    """Seconds of device time that a call of each function takes.

    Args:
        functions: From name to a function without arguments.
        device: Where they run; on a CPU it is the host's time.
        seconds: Time after which no further round starts.
        head_start: Whether the host may run ahead, see [Note: the head start]. Without
            it the host's share of a call counts, as it does for a caller who waits.
    """

    def sample(function: Callable[[], object], calls: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if head_start:
            torch.cuda._sleep(_HEAD_START_CYCLES)
        start.record()
        for _ in range(calls):
            function()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3 / calls

    if device.type != "cuda":
        return measure.measure(functions, seconds=seconds)
    wait = torch.cuda.synchronize
    return measure.measure(functions, seconds=seconds, sample=sample, wait=wait)


def host_times(
    functions: Mapping[str, Callable[[], object]],
    device: torch.device,
    *,
    seconds: float,
) -> dict[str, Timing]:
    """Seconds that the host spends in a call, its work small enough not to queue up."""

    def sample(function: Callable[[], object], calls: int) -> float:
        synchronize(device)
        start = time.perf_counter()
        for _ in range(_HOST_CALLS):
            function()
        return (time.perf_counter() - start) / _HOST_CALLS

    return measure.measure(functions, seconds=seconds, max_rounds=1001, sample=sample)


def copy_of(count: int, device: torch.device) -> Callable[[], object]:
    """A copy on the device that reads and writes so many bytes in all."""
    source = torch.empty(max(1, count // 2), dtype=torch.uint8, device=device).random_()
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def timed(call: Callable[[], object], device: torch.device) -> tuple[object, float]:
    """The result of a call, and the seconds until the device has computed it."""
    synchronize(device)
    start = time.perf_counter()
    result = call()
    synchronize(device)
    return result, time.perf_counter() - start
