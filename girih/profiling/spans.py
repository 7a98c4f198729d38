"""Times on the host of what programs on the CPU do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from statistics import median
from time import perf_counter, perf_counter_ns

from girih.codegen.runtime.event import Event, observed
from girih.profiling.found import Timed


class HostClock:
    """Has programs tell it when a kernel begins and ends, a call of a function long."""

    def __init__(self) -> None:
        self._programs = threading.local()  # backward passes may be another thread's
        self._events: dict[tuple[int, str], tuple[str, Event]] = {}
        self._nanoseconds: dict[tuple[int, str], list[list[int]]] = {}
        self._calls = 0

    def watch(self, call: Callable[[], object]) -> None:
        """Makes a call, and notes what its programs do."""
        self._calls += 1
        with observed(self._span):
            call()

    def rows(self) -> list[Timed]:
        """What was found, for one call."""
        found = []
        for key, (graph, event) in self._events.items():
            calls = self._nanoseconds[key]
            totals = [sum(spans) for spans in calls]
            totals += [0] * (self._calls - len(totals))
            runs = sum(map(len, calls)) / self._calls
            found.append(Timed(event, graph, runs, 1e-9 * median(totals)))
        return found

    def _span(self, event: Event) -> _Program | _Span:
        programs = self._programs.__dict__.setdefault("names", [])
        if event.kind == "program":
            return _Program(programs, event.name)
        graph = programs[-1] if programs else ""
        key = id(event), graph
        if key not in self._events:
            self._events[key] = graph, event
            self._nanoseconds[key] = []
        calls = self._nanoseconds[key]
        calls += ([] for _ in range(self._calls - len(calls)))
        return _Span(calls[-1])


class _Program:
    __slots__ = ("_name", "_names")

    def __init__(self, names: list[str], name: str):
        self._names, self._name = names, name

    def __enter__(self) -> None:
        self._names.append(self._name)

    def __exit__(self, *error: object) -> None:
        self._names.pop()


class _Span:
    __slots__ = ("_start", "_times")

    def __init__(self, times: list[int]):
        self._times = times

    def __enter__(self) -> None:
        self._start = perf_counter_ns()

    def __exit__(self, *error: object) -> None:
        self._times.append(perf_counter_ns() - self._start)


def seconds_of(call: Callable[[], object]) -> float:
    """Time of a call, in seconds."""
    start = perf_counter()
    call()
    return perf_counter() - start
