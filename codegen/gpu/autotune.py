"""Which of several ways is the fastest on a device: measured once, kept on disk.

``Tuner.best`` measures what a function builds for each candidate, within bounded time.
How a run is measured is a function too, so that tests need no device.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import torch

from girih.codegen.disk_cache import DiskCache, cache_key
from girih.codegen.errors import CodegenError

Run = Callable[[], object]
Measure = Callable[[Run], float]

# What one candidate may take: enough runs that the median is steady to 1 %.
LEAST_RUNS = 5
MOST_RUNS = 40
WANTED_MS = 60.0
# Nobody waits for more than this without being told why.
SILENT_SECONDS = 1.0
# What has been told is told anew after as long.
NEXT_SECONDS = 5.0
# A candidate has to be so much faster than the first one, which is the default.
LEAST_GAIN = 0.02


@dataclass(frozen=True)
class Candidate:
    """One way to do something.

    Attributes:
        name: says which one it is, on the terminal and in the cache.
        settings: what the compiler is to be told.
    """

    name: str
    settings: Mapping[str, int] = field(default_factory=dict, compare=False)


class TuningCache(DiskCache[dict]):
    """Milliseconds of each candidate by name, as JSON."""

    magic = b"girih tuning 2\n"

    def encode(self, entry: dict) -> bytes:
        """As JSON."""
        return json.dumps(entry).encode()

    def decode(self, body: bytes) -> dict:
        """What was encoded."""
        return json.loads(body)


@dataclass
class Tuner:
    """Finds the fastest candidate.

    Attributes:
        measure: gives the milliseconds of a run.
        environment: device and versions: results hold only there.
        folder: where results are kept; None for nowhere.
        seconds: what measuring may take in all; candidates that are left then are not
            tried any more.
        output: where progress is told.
        clock: gives the time in seconds.
    """

    measure: Measure
    environment: Sequence[str]
    folder: Path | None = None
    seconds: float = 120.0
    output: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.monotonic
    _spent: float = 0.0
    _known: dict[str, dict] = field(default_factory=dict)

    def best(
        self,
        what: str,
        key: str,
        candidates: Sequence[Candidate],
        build: Callable[[Sequence[Candidate]], Iterator[Run]],
    ) -> Candidate:
        """The fastest candidate; the first one where none is clearly faster.

        Args:
            what: what is measured, for people.
            key: text of all that times depend on, but for the environment.
            candidates: the default first; at least one.
            build: gives a run for each candidate, in order; raising ``CodegenError``
                says that a candidate cannot be built.
        """
        names = "\n".join(candidate.name for candidate in candidates)
        digest = cache_key(key, names, *self.environment)
        times = self._kept(digest)
        if times is None and self._spent < self.seconds and len(candidates) > 1:
            times = self._measured(what, candidates, build)
            self._keep(digest, times)
        return _fastest(candidates, times or {})

    def _kept(self, digest: str) -> dict | None:
        found = self._known.get(digest)
        if found is None and self.folder is not None:
            found = TuningCache(self.folder).load(digest)
        return found

    def _keep(self, digest: str, times: dict) -> None:
        self._known[digest] = times
        # What was cut short is measured again by the next process.
        if self.folder is not None and self._spent < self.seconds:
            TuningCache(self.folder).store(digest, times)

    def _measured(
        self,
        what: str,
        candidates: Sequence[Candidate],
        build: Callable[[Sequence[Candidate]], Iterator[Run]],
    ) -> dict[str, float]:
        started, before = self.clock(), self._spent
        due = started + SILENT_SECONDS
        times: dict[str, float] = {}
        runs = build(candidates)
        for number, candidate in enumerate(candidates, start=1):
            times[candidate.name] = self._time_of(runs)
            now = self.clock()
            self._spent = before + now - started
            if now > due:
                due = now + NEXT_SECONDS
                self._tell(what, f"{number} of {len(candidates)} measured", times)
            if self._spent >= self.seconds:
                break
        if self.clock() - started > SILENT_SECONDS:
            self._tell(what, f"{len(times)} measured", times)
        return {name: ms for name, ms in times.items() if math.isfinite(ms)}

    def _time_of(self, runs: Iterator[Run]) -> float:
        try:
            return self.measure(next(runs))
        except (CodegenError, torch.OutOfMemoryError):
            return math.inf

    def _tell(self, what: str, state: str, times: dict[str, float]) -> None:
        name = min(times, key=times.__getitem__)
        best = f"best {times[name]:.4f} ms ({name})"
        print(f"girih: max-autotune {what}: {state}, {best}", file=self.output)


def _fastest(candidates: Sequence[Candidate], times: dict) -> Candidate:
    first = candidates[0]
    by_name = {candidate.name: candidate for candidate in candidates}
    known = [name for name in times if name in by_name]
    if not known:
        return first
    name = min(known, key=times.__getitem__)
    default = times.get(first.name, math.inf)
    is_faster = times[name] < default * (1 - LEAST_GAIN)
    return by_name[name] if is_faster else first


def measure_on(device: torch.device) -> Measure:
    """Measures runs on a CUDA device by its own clock, from memory and not from cache.

    Each run is preceded by a write that is larger than the second-level cache; that
    also gives the host time to launch the run.
    """
    cache = torch.cuda.get_device_properties(device).L2_cache_size
    other = torch.empty(max(4 * cache, 1 << 28), dtype=torch.int8, device=device)

    def measure(run: Run) -> float:
        with torch.cuda.device(device):
            first = _timed(run, other, 2)
            count = int(min(max(WANTED_MS / max(first, 1e-3), LEAST_RUNS), MOST_RUNS))
            return _timed(run, other, count)

    return measure


def _timed(run: Run, other: torch.Tensor, count: int) -> float:
    """The median of some runs in milliseconds."""
    pairs = []
    for _ in range(count):
        other.zero_()
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        pair[0].record()
        run()
        pair[1].record()
        pairs.append(pair)
    torch.cuda.synchronize()
    return statistics.median(first.elapsed_time(last) for first, last in pairs)
