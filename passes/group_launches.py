"""group-launches: runs of kernel launches become one native call each.

Requires:
    A host function as `convert-graph-to-host` makes it.

Establishes:
    Every `host.launch` stands in a `host.native`; between two native calls there is
    at least one op that generated code cannot run (an ATen call, a copy), or the first
    one is the last to read many bytes, and the second one makes as many.

Before::

    %0 = host.alloc        host.launch @k0 (%x, %0)
    %1 = host.alloc        host.launch @k1 (%0, %1)

After::

    %0 = host.alloc        %1 = host.alloc
    host.native { host.launch @k0 (%x, %0)  host.launch @k1 (%0, %1) }

Allocations, views and sizes move before a run: they depend on no launch. It does
not reorder launches, and does not move them over ATen calls. The code generator
names the function that a native call runs.

[Note: cuts] All buffers that a native call reads, writes or makes are alive together.
So a run is cut in two where that lets memory go before more is taken: a call of
generated code costs less than 1 us, and 64 KiB of fresh memory ten times as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from girih.dialects import host
from girih.dialects.bindings import ir
from girih.passes.lifetimes import (
    buffer_bytes,
    donated_arguments,
    storage_roots,
    storage_users,
)
from girih.passes.registry import register_pass

MOVABLE = frozenset({"host.alloc", "host.size", "host.view"})
"""Ops that neither read nor write what is in a buffer."""


@dataclass(frozen=True)
class GroupOptions:
    """What ends a run."""

    cut_bytes: int = 0
    """The pass cuts a native call in two where that saves at least so many bytes of
    memory. With 0 it cuts none."""


@dataclass(frozen=True)
class LaunchRun:
    """Launches that become one native call, in order."""

    launches: tuple[ir.OpView, ...]
    movable: tuple[ir.OpView, ...]
    """Ops between the launches, which move before them."""


@dataclass(frozen=True)
class Span:
    """Where a buffer that the program owns is needed, among the launches of a run.

    Attributes:
        first: the launch that makes it, -1 where it is there before the run.
        last: the last launch that needs it; their number where it lives on.
        size: its bytes.
    """

    first: int
    last: int
    size: int


def plan_runs(function: ir.OpView, cut_bytes: int = 0) -> tuple[LaunchRun, ...]:
    """The runs of launches of a host function: maximal ones, and their parts."""
    ops = list(function.regions[0].blocks[0].operations)
    runs = list(_maximal_runs(ops))
    if not cut_bytes:
        return tuple(runs)
    spans = _Spans(function, ops)
    return tuple(part for run in runs for part in _parts(run, spans, cut_bytes))


def _maximal_runs(ops: Sequence[ir.OpView]) -> Iterator[LaunchRun]:
    launches: list[ir.OpView] = []
    movable: list[ir.OpView] = []
    for op in ops:
        if op.name == "host.launch":
            launches.append(op)
        elif op.name not in MOVABLE:
            if launches:
                yield LaunchRun(tuple(launches), tuple(movable))
            launches, movable = [], []
        elif launches:
            movable.append(op)


# Cuts -------------------------------------------------------------------------------


class _Spans:
    """Finds the spans of the buffers of a host function."""

    def __init__(self, function: ir.OpView, ops: Sequence[ir.OpView]):
        self.position = {op: index for index, op in enumerate(ops)}
        donated = donated_arguments(function)
        self._roots = {value: value for value in donated} | storage_roots(ops)
        self._users = storage_users(ops, self._roots)

    def of(self, launches: Sequence[ir.OpView]) -> Iterator[Span]:
        """The spans of the buffers that the launches of a run touch."""
        order = {self.position[op]: index for index, op in enumerate(launches)}
        touched = {self._roots.get(v) for op in launches for v in op.operands}
        for value in touched - {None}:
            size = buffer_bytes(value)
            if not isinstance(size, int):
                continue
            users = self._users[value]
            first = order.get(self.position[users[0]], -1) if _is_alloc(value) else -1
            last = order.get(self.position[users[-1]], len(launches))
            yield Span(first, last, size)


def _is_alloc(value: ir.Value) -> bool:
    return isinstance(value, ir.OpResult) and value.owner.name == "host.alloc"


def _parts(run: LaunchRun, spans: _Spans, least: int) -> Iterator[LaunchRun]:
    """The run, cut where that spares at least so many bytes."""
    count = len(run.launches)
    found = list(spans.of(run.launches)) if count > 1 else []
    ends = [*_cuts(found, 0, count, least), count]
    for start, end in zip([0, *ends], ends, strict=False):
        launches = run.launches[start:end]
        first, last = spans.position[launches[0]], spans.position[launches[-1]]
        movable = [op for op in run.movable if first < spans.position[op] < last]
        yield LaunchRun(launches, tuple(movable))


def _cuts(spans: Sequence[Span], start: int, end: int, least: int) -> Iterator[int]:
    """Launches between `start` and `end` before which the run is cut."""
    if end - start < 2:
        return
    gains = _gains(spans, start, end)
    best = max(range(start + 1, end), key=gains.__getitem__)
    if gains[best] >= least:
        yield from _cuts(spans, start, best, least)
        yield best
        yield from _cuts(spans, best, end, least)


def _gains(spans: Sequence[Span], start: int, end: int) -> dict[int, int]:
    """For each cut, the bytes that are not alive together with others any more.

    What was there and is not needed after the cut, against what the launches after
    it make and leave.
    """
    ended, made = [0] * (end - start), [0] * (end - start)
    for span in spans:
        if span.first < start <= span.last < end:
            ended[span.last - start] += span.size
        if start <= span.first < end <= span.last:
            made[span.first - start] += span.size
    before = list(accumulate(ended))
    behind = list(accumulate(reversed(made)))[::-1]
    return {start + i: min(before[i - 1], behind[i]) for i in range(1, end - start)}


# Application ------------------------------------------------------------------------


def apply_run(run: LaunchRun) -> None:
    """Puts the launches of a run into one native call."""
    first = run.launches[0]
    for op in run.movable:
        op.operation.move_before(first.operation)
    before = ir.InsertionPoint(first)
    location = ir.Location.fused([launch.location for launch in run.launches])
    native = host.build("native", loc=location, ip=before)
    block = native.regions[0].blocks.append()
    for launch in run.launches:
        block.append(launch)


@register_pass("group-launches", options=GroupOptions)
def run(op: ir.OpView, options: GroupOptions) -> None:
    """Groups adjacent kernel launches into native calls."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func":
            for launch_run in plan_runs(function, options.cut_bytes):
                apply_run(launch_run)
