"""The graph passes keep the results of random programs, and make what they promise."""

import pytest
import torch
from normal_form import check_module
from random_graphs import random_graph

from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.evaluation.reference import evaluate
from girih.passes.registry import run_pipeline

PIPELINES = (
    "canonicalize-graph",
    "decompose",
    "decompose,separate-reductions,fuse",
    "decompose,fuse",
    "decompose,fuse{max-inputs=3 max-concat-operands=2 parallel-rows=1}",
    "graph",
)
PROGRAMS = 25
OPS = 20


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_results_stay(pipeline, symbolic):
    with make_context(), ir.Location.unknown():
        for seed in range(PROGRAMS):
            module, inputs = random_graph(seed, OPS, symbolic=symbolic)
            verifier.verify(module)
            expected = evaluate(module, inputs)
            run_pipeline(module, pipeline, verify=True)
            if "fuse" in pipeline or pipeline == "graph":
                check_module(module)
            torch.testing.assert_close(
                evaluate(module, inputs),
                expected,
                rtol=1e-9,
                atol=1e-9,
                equal_nan=True,
                msg=lambda text, seed=seed: f"program {seed}: {text}",
            )


def test_many_library_ops():
    """Groups that could only run after themselves would show as a cycle."""
    with make_context(), ir.Location.unknown():
        for seed in range(PROGRAMS):
            module, inputs = random_graph(seed, 120, barriers=40)
            expected = evaluate(module, inputs)
            run_pipeline(module, "decompose,fuse")
            check_module(module)
            torch.testing.assert_close(
                evaluate(module, inputs), expected, rtol=1e-9, atol=1e-9, equal_nan=True
            )


def test_no_rule_applies_twice():
    """Canonical form is canonical: a second run changes nothing."""
    with make_context(), ir.Location.unknown():
        for seed in range(PROGRAMS):
            module, _ = random_graph(seed, OPS)
            run_pipeline(module, "canonicalize-graph,decompose,canonicalize-graph")
            once = str(module)
            run_pipeline(module, "canonicalize-graph")
            assert str(module) == once, seed
