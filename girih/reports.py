"""What a compilation did, as an object that prints well."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from girih.checking.found import GraphCheck
    from girih.codegen.runtime.event import Event

from girih import config
from girih.fallbacks import Fallback


@dataclass(frozen=True)
class Origin:
    """For what TorchDynamo captured a graph.

    Attributes:
        backend: Refers to what stands for one call of ``torch.compile``.
        code: Refers to the code of the captured function.
    """

    backend: weakref.ref
    code: weakref.ref


@dataclass(frozen=True)
class Ran:
    """A stage that ran, or a user's pass.

    Attributes:
        program: The kind of program: "inference", "joint", "forward", "backward" or
            "derivative".
        stage: The stage, or the place of the pass.
        seconds: How long it took; None where passes of MLIR ran as one, whose time is
            that of the last of them.
        users_pass: The name of a user's pass, else "".
        changed: Whether that changed the IR; None for girih's own stages.
    """

    program: str
    stage: str
    seconds: float | None
    users_pass: str = ""
    changed: bool | None = None

    def __str__(self) -> str:
        spent = "" if self.seconds is None else f" {1e3 * self.seconds:.1f} ms"
        if not self.users_pass:
            return f"{self.program} {self.stage}:{spent}"
        what = "changed the IR" if self.changed else "changed nothing"
        return f"{self.users_pass} at {self.stage} ({self.program}):{spent}, {what}"


@dataclass
class Report:
    """One compiled graph.

    Attributes:
        name: Name of the graph.
        backend: Name of the backend of torch that compiled it; "" where girih did.
        stage_seconds: Seconds spent in each stage, in order.
        kernels: Distinct fused kernels.
        launches: Kernel launches in one call.
        native_calls: Calls into compiled code in one call.
        externs: Calls of ATen ops in one call.
        workspace_bytes: Bytes of the shared workspace, or None where symbolic.
        cache: Where the object code came from: "compiled", "memory", "disk" or
            "none" where the graph has no kernel.
        ir_paths: File of each level of IR, where a dump folder was given; in
            ``girih.report(f).ir_paths`` by program and level. In training ``graph`` is
            the joint function's, and ``forward-graph`` the forward program's.
        fallback: Why the graph runs eager, or None.
        fallbacks: That, and why single calls ran eager, each reason once.
        recordings: CUDA graphs that were recorded so far.
        not_recorded: Why calls are not replayed from a CUDA graph, where that was asked
            for: all that was met so far.
        host: Of what the graph computes on the CPU before it runs on a device.
        constants: Of what it computes of weights alone, once (option `freezing`).
        derivatives: Of the backward programs and derivatives of higher order that were
            compiled so far.
        pieces: Of the graphs that it was broken into, as they are compiled.
        ran: The stages that ran, in order, with the passes of users among them.
        places: Where passes of users were to run.
        events: Of its kernels and library calls, each thing once: names, operations,
            lines, bytes.
        check: What came of comparing its first calls with eager, where that was asked
            for.
        origin: For what TorchDynamo captured the graph, or None.
    """

    name: str = ""
    backend: str = ""
    stage_seconds: dict[str, float] = field(default_factory=dict)
    kernels: int = 0
    launches: int = 0
    native_calls: int = 0
    externs: int = 0
    workspace_bytes: int | None = 0
    cache: str = "none"
    ir_paths: dict[str, Path] = field(default_factory=dict)
    fallback: str | None = None
    fallbacks: list[Fallback] = field(default_factory=list)
    recordings: int = 0
    not_recorded: list[str] = field(default_factory=list)
    host: Report | None = None
    constants: Report | None = None
    derivatives: list[Report] = field(default_factory=list)
    pieces: list[Report] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    events: tuple[Event, ...] = field(default=(), repr=False)
    check: GraphCheck | None = None
    origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def places_not_reached(self) -> list[str]:
        """The places of users' passes that no program has come to so far."""
        reports = self.and_derived()
        reached = {ran.stage for report in reports for ran in report.ran}
        return [place for place in self.places if place not in reached]

    def and_derived(self) -> Iterator[Report]:
        """This report and those of what belongs to the graph: its derivatives, ..."""
        yield self
        if self.host is not None:
            yield self.host
        if self.constants is not None:
            yield self.constants
        for report in (*self.derivatives, *self.pieces):
            yield from report.and_derived()

    @property
    def compile_seconds(self) -> float:
        """Seconds from the captured graph to the callable."""
        return sum(self.stage_seconds.values())

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the time of the block to the stage's seconds."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.stage_seconds[name] = self.stage_seconds.get(name, 0.0) + spent

    def __str__(self) -> str:
        if self.fallback is not None:
            return f"{self.name} runs in eager mode. Reason: {self.fallback}"
        if self.pieces:
            return (
                f"{self.name}: split into {len(self.pieces)} graphs, which Python calls"
            )
        stages = ", ".join(
            f"{name} {1e3 * s:.1f}" for name, s in self.stage_seconds.items()
        )
        recordings = (
            f"; {_count(self.recordings, 'CUDA graph')}" if self.recordings else ""
        )
        reasons = "".join(
            f"; not recorded in a CUDA graph: {why}" for why in self.not_recorded
        )
        reasons += "".join(
            f"; some calls ran in eager mode: {f.reason}" for f in self.fallbacks
        )
        if self.backend:
            milliseconds = f"{1e3 * self.compile_seconds:.1f} ms"
            head = f"{self.name}: compiled by {self.backend} in {milliseconds}"
            return f"{head}{reasons}"
        return (
            f"{self.name}: {_count(self.kernels, 'kernel')}; each call makes "
            f"{_count(self.launches, 'kernel launch')} and "
            f"{_count(self.externs, 'ATen call')}; "
            f"compiled in {self.compile_seconds * 1e3:.1f} ms ({stages})"
            f"{_SOURCES_OF_CODE[self.cache]}"
            f"{recordings}{reasons}{_checked(self.check)}{self._users_passes()}"
        )

    def _users_passes(self) -> str:
        lines = [str(ran) for ran in self.ran if ran.users_pass]
        if missed := self.places_not_reached:
            lines.append(f"no program has reached {', '.join(missed)} so far")
        return "".join(f"\n  {line}" for line in lines)


@dataclass
class Reports:
    """What one compiled callable holds.

    Attributes:
        graphs: All graphs, in the order of compilation.
        functions: Functions, and single calls of them, that ran as plain Python.
        name: What the names of the graphs begin with.
        notes: What can't be told of the callable.
    """

    graphs: list[Report] = field(default_factory=list)
    functions: list[Fallback] = field(default_factory=list)
    name: str = "graph"
    notes: list[str] = field(default_factory=list)

    def begin(self) -> Report:
        """Adds the report of a graph that is about to be compiled."""
        report = Report(name=f"{self.name}{len(self.graphs)}")
        self.graphs.append(report)
        return report

    @property
    def fallbacks(self) -> list[Fallback]:
        """All that ran eager although it was to be compiled, each reason once."""
        derived = [report for graph in self.graphs for report in graph.and_derived()]
        of_graphs = (f for report in derived for f in report.fallbacks)
        return list(dict.fromkeys([*self.functions, *of_graphs]))

    @property
    def kernels(self) -> int:
        """Distinct fused kernels, over all graphs."""
        return sum(graph.kernels for graph in self.graphs)

    @property
    def launches(self) -> int:
        """Kernel launches of one call of every graph."""
        return sum(graph.launches for graph in self.graphs)

    @property
    def externs(self) -> int:
        """ATen calls of one call of every graph."""
        return sum(graph.externs for graph in self.graphs)

    @property
    def compile_seconds(self) -> float:
        """Seconds from the captured graphs to callables."""
        return sum(graph.compile_seconds for graph in self.graphs)

    @property
    def ir_paths(self) -> dict[str, Path]:
        """All dumped files, by program and level: ``graph0.backward/fused``."""
        found: dict[str, Path] = {}
        for graph in self.graphs:
            for program in graph.and_derived():
                for level, path in program.ir_paths.items():
                    name = f"{program.name}/{level}"
                    # There may be a backward program for each set of gradients.
                    name = f"{path.parent.name}/{level}" if name in found else name
                    found[name] = path
        return found

    def __str__(self) -> str:
        lines = [str(report) for graph in self.graphs for report in graph.and_derived()]
        lines += [str(fallback) for fallback in self.functions]
        if not lines and config.is_disabled():
            lines = ["girih compiles nothing: an environment variable disables it"]
        lines = lines or ["girih has compiled nothing yet"]
        return "\n".join([*lines, *self.notes])


_SOURCES_OF_CODE = {
    "compiled": "; LLVM or Triton compiled the kernels",
    "memory": "; the kernels were in memory",
    "disk": "; the kernels were in the disk cache",
    "none": "",
}
"""By ``Report.cache`` what the text of a report says about machine code."""


def _count(number: int, noun: str) -> str:
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{ending}"


def _checked(check: GraphCheck | None) -> str:
    return "" if check is None else f"\n  check: {check}"
