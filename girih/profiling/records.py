"""Times that ``torch.profiler`` has: kernels of a GPU, and eager operations.

A kernel belongs to the innermost event on the host that surrounds its launch. girih's
events say which kernels of its own may run there; what else does is a library's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from statistics import median
from typing import Any

import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity

from girih.codegen.runtime.event import PREFIX, Event, observed, record
from girih.profiling.found import EAGER, Timed

_OPERATION = "aten::"
_CALL = "call that girih.profile makes"


def device_times(call: Callable[[], object], calls: int) -> list[Timed]:
    """What runs on the GPU in a call of a function, kernel by kernel."""
    described = Described()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with observed(described), torch.profiler.profile(activities=activities) as profiler:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    return kernels_of(profiler.events(), described, calls)


def eager_times(call: Callable[[], object], calls: int) -> list[Timed]:
    """The operations of a call that no compiled program runs, on the CPU.

    Medians are what other rows have, too; so each call is an event of its own.
    """
    found: dict[str, list[Timed]] = {}
    with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(calls):
            with torch.profiler.record_function(_CALL):
                call()
    for mark in (event for event in profiler.events() if event.name == _CALL):
        sums = _Sums(1)
        for operation in _outside_of_programs(mark.cpu_children):
            sums.add(_eager(operation.name), EAGER, operation.cpu_time_total)
        for timed in sums.all():
            found.setdefault(timed.event.name, []).append(timed)
    return [_median_of(timed, calls) for timed in found.values()]


def _median_of(timed: Sequence[Timed], calls: int) -> Timed:
    """An operation in the median of some calls, in some of which it did not run."""
    seconds = [one.seconds for one in timed] + [0.0] * (calls - len(timed))
    runs = sum(one.calls for one in timed) / calls
    return timed[0]._replace(calls=runs, seconds=median(seconds))


class Described:
    """Opens events of ``torch.profiler``, and keeps what they are of."""

    def __init__(self) -> None:
        self._programs: dict[str, Event] = {}
        self._others: dict[str, Event] = {}

    def __call__(self, event: Event) -> AbstractContextManager:
        """An event of ``torch.profiler``."""
        kept = self._programs if event.kind == "program" else self._others
        kept.setdefault(event.name, event)
        return record(event)

    def program(self, name: str) -> Event | None:
        """The program of this name."""
        return self._programs.get(name)

    def inside(self, name: str, program: Event | None) -> Event | None:
        """The kernels, or the call, of this name, where it is one of a program."""
        parts = program.parts if program is not None else ()
        found = next((part for part in parts if part.name == name), None)
        return found or self._others.get(name)


def kernels_of(
    events: Iterable[FunctionEvent], described: Described, calls: int
) -> list[Timed]:
    """What each kernel of a GPU is of, and its time in one of some calls."""
    sums = _Sums(calls)
    for event in events:
        for kernel in event.kernels:
            of, graph, counts = _attributed(event, kernel.name, described)
            sums.add(of, graph, kernel.duration, counts)
    return sums.all()


def _attributed(
    event: FunctionEvent, kernel: str, described: Described
) -> tuple[Event, str, bool]:
    """What a kernel is of, in which program, and whether it counts as a call."""
    names = [one.name for one in _outwards(event)]
    own = [name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)]
    if not own:
        operations = [name for name in names if name.startswith(_OPERATION)]
        # What runs no operation is a copy, or a kernel of the user's own.
        return _eager(operations[-1] if operations else kernel), EAGER, True
    program = next((found for name in own if (found := described.program(name))), None)
    inner = described.inside(own[0], program)
    graph = "" if program is None else program.name
    if inner is not None and inner.kind == "call":
        return inner, graph, True
    around = inner or program
    launched = (around.parts or (around,)) if around is not None else ()
    for part in launched:
        if kernel == part.name:
            return part, graph, True
        name, _, grid = kernel.rpartition("_")
        if name == part.name and grid.isdigit():
            return part, graph, grid == "0"  # one launch makes all grids
    products = [part for part in launched if part.name.startswith("matmul")]
    if len(products) == 1:
        return products[0]._replace(name=kernel, kind="call"), graph, True
    lines = inner.lines if inner is not None else ""
    return Event(kernel, lines=lines, kind="call"), graph, True


def _outwards(event: FunctionEvent | None) -> Iterator[FunctionEvent]:
    while event is not None:
        yield event
        event = event.cpu_parent


def _outside_of_programs(events: Iterable[FunctionEvent]) -> Iterator[FunctionEvent]:
    """The outermost operations that have no program around and none inside."""
    for event in events:
        if event.name.startswith(PREFIX):
            continue
        if event.name.startswith(_OPERATION) and not _has_program(event):
            yield event
        else:
            yield from _outside_of_programs(event.cpu_children)


def _has_program(event: FunctionEvent) -> bool:
    return any(
        inner.name.startswith(PREFIX) or _has_program(inner)
        for inner in event.cpu_children
    )


def _eager(name: str) -> Event:
    return Event(name, kind="eager")


class _Sums:
    """Adds up the runs of kernels and operations in some calls."""

    def __init__(self, calls: int):
        self._calls = calls
        self._runs: dict[tuple[Event, str], int] = {}
        self._microseconds: dict[tuple[Event, str], float] = {}

    def add(
        self, event: Event, graph: str, microseconds: Any, counts: bool = True
    ) -> None:
        """Adds a run, or, where it does not count, a part of one."""
        key = event, graph
        self._runs[key] = self._runs.get(key, 0) + counts
        self._microseconds[key] = self._microseconds.get(key, 0.0) + microseconds

    def all(self) -> list[Timed]:
        """What was added, for one call."""
        factor = 1e-6 / self._calls
        return [
            Timed(*key, runs / self._calls, factor * self._microseconds[key])
            for key, runs in self._runs.items()
        ]
