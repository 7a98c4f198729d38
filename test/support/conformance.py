"""Compares derivatives of one operator's samples with eager's, and says how."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

from gradients import EXACT, GRADCHECK, Sweep, agree, eager_sweep, sweep_like
from graph_gradients import GraphFunction
from op_samples import Case

import girih
from girih.errors import UnsupportedError
from girih.reports import Report

# Operators some of whose samples differ, and why.
KNOWN = {
    "as_strided_scatter": "torch's own derivative keeps what was overwritten: "
    "gradcheck fails for it, and passes for girih's (test_op_samples.py)",
    "linalg.eig": "ATen checks each part of the second derivative by itself, and only "
    "the sum does not depend on the phase of eigenvectors",
    "linalg.norm.subgradients_at_zero": "second derivatives where eager gives NaN",
    "nn.functional.embedding_bag": "sizes of results that nothing reads are others "
    "than ATen's own meta function says; compiled it is right",
}


@dataclass(frozen=True)
class Outcome:
    """How one sample fared.

    Attributes:
        label: Names the sample.
        way: "native"; "extern" where ATen computes some of it; "eager" where girih
            leaves it to eager; "-" where eager itself gives no gradient.
        verdict: "agrees" to 1e-7, "close" to gradcheck's tolerance, "differs",
            "fails", "known" for one of these where the reason is known, or "-".
        detail: What differs, or why it is eager.
        orders: How many orders were compared.
    """

    label: str
    way: str
    verdict: str
    detail: str = ""
    orders: int = 0

    @property
    def is_right(self) -> bool:
        """Whether the derivatives are eager's."""
        return self.verdict in ("agrees", "close", "known", "-")


def try_graph(case: Case, order: int = 2) -> Outcome:
    """One sample through the importer and ``autograd``, evaluated by torch."""

    def attempt(expected: Sweep) -> tuple[Sweep, str]:
        graph = GraphFunction(case.function, case.tensors)
        actual = graph.sweep_like(expected)
        return actual, "extern" if "extern" in graph.names else "native"

    return _try(case, order, attempt)


def try_compiled(case: Case, order: int = 2) -> Outcome:
    """One sample through ``girih.compile``."""

    def attempt(expected: Sweep) -> tuple[Sweep, str]:
        girih.reset()
        compiled = girih.compile(case.function, dynamic=False, options=_STRICT)
        actual = sweep_like(expected, compiled, case.tensors)
        return actual, _way(compiled)

    return _try(case, order, attempt)


_STRICT = {"fallback": False}


def _way(compiled: Callable) -> str:
    graphs = [g for graph in girih.report(compiled).graphs for g in _with_inner(graph)]
    if not graphs or any(graph.fallback is not None for graph in graphs):
        return "eager"
    return "extern" if any(graph.externs for graph in graphs) else "native"


def _with_inner(graph: Report) -> list[Report]:
    """A report and those of its derivatives."""
    return [graph, *(g for inner in graph.derivatives for g in _with_inner(inner))]


def _try(case: Case, order: int, attempt: Callable) -> Outcome:
    outcome = _tried(case, order, attempt)
    if outcome.is_right or case.op not in KNOWN:
        return outcome
    return replace(outcome, verdict="known", detail=KNOWN[case.op])


def _tried(case: Case, order: int, attempt: Callable) -> Outcome:
    order = order if case.has_second_order else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = eager_sweep(case.function, case.tensors, order)
        except (RuntimeError, NotImplementedError) as error:
            return Outcome(case.label, "-", "-", f"eager: {error}")
        try:
            actual, way = attempt(expected)
        except UnsupportedError as error:
            return Outcome(case.label, "eager", "-", error.summary())
        except Exception as error:  # noqa: BLE001  (a table shows all failures)
            detail = f"{type(error).__name__}: {error}"
            return Outcome(case.label, "?", "fails", detail)
    return _judged(case, way, actual, expected)


def _judged(case: Case, way: str, actual: Sweep, expected: Sweep) -> Outcome:
    orders = len(expected.orders)
    if not agree(actual, expected, EXACT):
        return Outcome(case.label, way, "agrees", "", orders)
    # Tables allow some operators to differ between two runs of eager.
    absolute, relative = GRADCHECK
    allowed = (max(absolute, case.nondeterminism), relative)
    problem = agree(actual, expected, allowed)
    verdict = "differs" if problem else "close"
    return Outcome(case.label, way, verdict, problem, orders)
