"""Compares derivatives of one operator's samples with eager's, and says how."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from gradients import EXACT, GRADCHECK, agree, eager_sweep
from graph_gradients import GraphFunction
from op_samples import Case

from girih.errors import UnsupportedError


@dataclass(frozen=True)
class Outcome:
    """How one sample fared.

    Attributes:
        label: Names the sample.
        way: "native"; "extern" where ATen computes some of it; "eager" where girih
            leaves it to eager; "-" where eager itself gives no gradient.
        verdict: "agrees" to 1e-7, "close" to gradcheck's tolerance, "differs",
            "fails", or "-".
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
        return self.verdict in ("agrees", "close", "-")


def try_graph(case: Case, order: int = 2) -> Outcome:
    """One sample through the importer and ``autograd``, evaluated by torch."""
    order = order if case.has_second_order else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = eager_sweep(case.function, case.tensors, order)
        except (RuntimeError, NotImplementedError) as error:
            return Outcome(case.label, "-", "-", f"eager: {error}")
        try:
            graph = GraphFunction(case.function, case.tensors)
        except UnsupportedError as error:
            return Outcome(case.label, "eager", "-", error.summary())
        return _judged(case, graph, expected)


def _judged(case: Case, graph: GraphFunction, expected) -> Outcome:
    try:
        actual = graph.sweep_like(expected)
    except Exception as error:  # noqa: BLE001  (a table shows all failures)
        return Outcome(case.label, "?", "fails", f"{type(error).__name__}: {error}")
    way = "extern" if "extern" in graph.names else "native"
    orders = len(expected.orders)
    if not agree(actual, expected, EXACT):
        return Outcome(case.label, way, "agrees", "", orders)
    # Tables allow some operators to differ between two runs of eager.
    absolute, relative = GRADCHECK
    allowed = (max(absolute, case.nondeterminism), relative)
    problem = agree(actual, expected, allowed)
    verdict = "differs" if problem else "close"
    return Outcome(case.label, way, verdict, problem, orders)
