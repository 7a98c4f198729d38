"""Times of several functions, measured in alternating rounds."""

from __future__ import annotations

import ctypes
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_SAMPLE_SECONDS = 2e-3
_WARM_UP_SECONDS = 2e-2
_WARM_UP_CALLS = 3


@dataclass(frozen=True)
class Timing:
    """Seconds of one call, over all rounds."""

    median: float
    minimum: float
    rounds: int


def keep_freed_memory() -> bool:
    """Lets the process keep the memory that it frees; returns whether it does.

    Otherwise glibc hands large blocks back, and each call of any engine waits for the
    kernel to map its results anew: four fifths of the time of an out-of-cache case
    (2026-11-20), more or less of it as the last calls left the heap. Source:
    https://man7.org/linux/man-pages/man3/mallopt.3.html
    """
    trim_threshold, mmap_max = -1, -4
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # not glibc
        return False
    return bool(mallopt(mmap_max, 0) and mallopt(trim_threshold, 2**31 - 1))


def measure(
    functions: Mapping[str, Callable[[], object]],
    *,
    seconds: float = 2.0,
    min_rounds: int = 7,
    max_rounds: int = 101,
    sample: Callable[[Callable[[], object], int], float] | None = None,
    wait: Callable[[], None] | None = None,
) -> dict[str, Timing]:
    """Measures the functions in turn, round after round.

    Alternating rounds let a change of the machine's speed hit all functions alike;
    each round starts with another function.

    Args:
        functions: From name to a function without arguments.
        seconds: Time after which no further round starts.
        min_rounds: Rounds that are done in any case.
        max_rounds: Rounds after which it ends.
        sample: Calls a function so many times and returns the seconds of one call;
            by default it is the host's clock that counts.
        wait: Waits for a call of the warm-up to end. A device would be given work of
            many seconds else, as the host takes little time for a call.

    Returns:
        From name to its times.
    """
    sample = sample or _sample
    calls = {
        name: _calls_per_sample(f, sample, wait or (lambda: None))
        for name, f in functions.items()
    }
    samples: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    end = time.perf_counter() + seconds
    gc.collect()
    gc.disable()
    try:
        for round_ in range(max_rounds):
            if round_ >= min_rounds and time.perf_counter() > end:
                break
            first = round_ % len(names)
            for name in names[first:] + names[:first]:
                samples[name].append(sample(functions[name], calls[name]))
    finally:
        gc.enable()
    return {name: _summary(values) for name, values in samples.items()}


def _calls_per_sample(
    function: Callable[[], object],
    sample: Callable[[Callable[[], object], int], float],
    wait: Callable[[], None],
) -> int:
    start = time.perf_counter()
    calls = 0
    while calls < _WARM_UP_CALLS or time.perf_counter() - start < _WARM_UP_SECONDS:
        function()
        wait()
        calls += 1
    # The first calls may compile, so the estimate comes from calls after them.
    return max(1, round(_SAMPLE_SECONDS / sample(function, max(1, calls // 10))))


def _sample(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def _summary(values: list[float]) -> Timing:
    return Timing(statistics.median(values), min(values), len(values))
