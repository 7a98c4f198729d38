"""Graphs that are no single program: they are captured again, and broken into pieces.

Python decides in them (``torch.cond``), a size depends on data, a generator of random
numbers is seeded, derivatives end at a tensor that the graph makes, or cuDNN runs the
layers of a recurrent network. Capture knows how to break a graph as a Python function:
what is around such an operation is compiled, and the operation's bodies are compiled
apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from girih.errors import UnsupportedError
from girih.frontend.capture.api import Settings
from girih.frontend.capture.budget import Limits
from girih.frontend.capture.targets import compile_callable
from girih.frontend.importer.in_python import (
    in_python,
    is_decided_in_python,
    writes_its_own_way,
)
from girih.frontend.importer.leaves import ELSEWHERE, NEW_LEAF, leaves_in
from girih.frontend.importer.levels import enters_levels
from girih.frontend.importer.writing_calls import OVERLAPS, UNKNOWN_DERIVATIVE
from girih.options import Options
from girih.reports import Report, Reports

# What import says of graphs whose sizes or ways depend on data.
_OF_DATA = frozenset(
    (
        "data-dependent size",
        "data-dependent value",
        "size known too late",
        "size without a value",
    )
)
# What it says of operators that write, which Python can call between pieces.
_OF_OPERATORS = frozenset((OVERLAPS, UNKNOWN_DERIVATIVE))
# What it says of tensors at which derivatives end. Their gradients may be looked at.
_OF_LEAVES = frozenset((NEW_LEAF, ELSEWHERE))


CompileGraph = Callable[
    [torch.fx.GraphModule, Sequence[Any], Options, Report], Callable
]


@dataclass(frozen=True)
class _PieceBackend:
    """The backend of a broken graph's pieces."""

    options: Options
    reports: Reports
    compile_graph: CompileGraph

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: Sequence[Any]):
        report = self.reports.begin()
        return self.compile_graph(gm, example_inputs, self.options, report)

    def reset(self) -> None:
        """Drops the reports of what was compiled; called when that is dropped."""
        self.reports.graphs.clear()


def needs_pieces(gm: torch.fx.GraphModule) -> bool:
    """Whether a graph has to be broken, as its nodes say."""
    return is_decided_in_python(gm) and not enters_levels(gm)


def may_be_broken(gm: torch.fx.GraphModule, error: Exception) -> bool:
    """Whether a graph that could not be imported can be compiled in pieces."""
    if not isinstance(error, UnsupportedError) or enters_levels(gm):
        return False
    if error.kind in _OF_LEAVES:
        return len(leaves_in(gm)) > 0
    return error.kind in _OF_DATA | _OF_OPERATORS


def compile_pieces(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    report: Report,
    compile_graph: CompileGraph,
    error: Exception | None = None,
) -> Callable:
    """A callable that runs a graph piece by piece.

    Args:
        gm: The graph.
        example_inputs: One value for each placeholder.
        options: Of the compilation.
        report: Gets a report of each piece, when that is compiled: at the first call.
        compile_graph: Compiles a piece.
        error: Why it could not be imported, if that was tried.
    """
    limits = Limits(
        options.capture_instructions,
        options.capture_operations,
        options.capture_seconds,
    )
    settings = Settings(
        fullgraph=False,
        dynamic=_dynamic(example_inputs),
        backend_fn=_PieceBackend(options, Reports(report.pieces), compile_graph),
        limits=limits,
        fallback=options.falls_back(),
        fallbacks=report.fallbacks,
    )

    def compile_body(body: torch.fx.GraphModule) -> Callable:
        made = in_python(body, compile_body, _left_out(body, error))
        return compile_callable(made.forward, settings)

    return compile_body(gm)


def _left_out(
    gm: torch.fx.GraphModule, error: Exception | None
) -> Callable[[torch.fx.Node], bool]:
    """Which nodes Python shall call, beside those that no program has."""
    kind = error.kind if isinstance(error, UnsupportedError) else None
    if kind in _OF_LEAVES:
        return leaves_in(gm).__contains__
    return writes_its_own_way if kind in _OF_OPERATORS else lambda node: False


def _dynamic(example_inputs: Sequence[Any]) -> bool | None:
    """Whether sizes are symbolic from the start, as in the graph."""
    sizes = [
        size
        for value in example_inputs
        for size in (value.shape if isinstance(value, torch.Tensor) else (value,))
    ]
    return True if any(isinstance(size, torch.SymInt) for size in sizes) else None
