"""A joint function gives the same in two parts, whatever is saved."""

import random

import pytest
import torch
from joint_graphs import random_gradients, random_joint, run_split
from torch import Tensor

from girih.dialects import attributes as attr
from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.evaluation.reference import evaluate, function_of
from girih.passes.registry import run_pipeline

BEFORE = "decompose,canonicalize-graph,eliminate-common-subexpressions"


def check(module: ir.Module, inputs: list, budget: float = 1.0) -> None:
    """Partitions the module and compares with what it gave before."""
    run_pipeline(module, BEFORE)
    expected = evaluate(module, inputs)
    run_pipeline(module, f"partition{{memory-budget={budget}}}")
    verifier.verify(module)
    module.operation.verify()
    results, gradients = run_split(module, inputs)
    for actual, wanted in zip([*results, *gradients], expected, strict=True):
        assert isinstance(wanted, Tensor)
        torch.testing.assert_close(actual, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("budget", [0, 0.5, 1])
def test_random_graphs(budget: float, symbolic: bool) -> None:
    for seed in range(60):
        with make_context(), ir.Location.unknown():
            count = 5 + seed % 40
            module, inputs = random_joint(seed, count, symbolic=symbolic, barriers=10)
            check(module, inputs, budget)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("budget", [0, 0.5, 1])
def test_random_gradients(budget: float, symbolic: bool) -> None:
    for seed in range(40):
        with make_context(), ir.Location.unknown():
            module, inputs = random_gradients(seed, 5 + seed % 30, symbolic=symbolic)
            check(module, inputs, budget)


@pytest.mark.parametrize("budget", [0.5, 1])
def test_random_checkpoints(budget: float) -> None:
    for seed in range(60):
        with make_context(), ir.Location.unknown():
            module, inputs = random_joint(seed, 10 + seed % 30, barriers=15)
            mark_checkpoints(module, random.Random(seed))
            check(module, inputs, budget)


def mark_checkpoints(module: ir.Module, rng: random.Random) -> None:
    """Puts ops into regions, as if parts of the program were checkpointed."""
    region = 1
    *ops, _ = function_of(module).regions[0].blocks[0].operations
    for op in ops:
        region += rng.random() < 0.2
        if op.operation.name.startswith("graph.") and region % 3:
            op.operation.attributes["graph.checkpoint"] = attr.INT.encode(region)
