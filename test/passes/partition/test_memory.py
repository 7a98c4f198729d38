"""What is saved for whole models: no more than eager saves, and within the budget."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from importing import graph_of
from joint_graphs import attributes_of, run_split
from torch import Tensor

from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.evaluation.reference import evaluate, function_of
from girih.frontend.importer import import_graph
from girih.passes.partition.plan import PartitionOptions, PartitionPlan, make_plan
from girih.passes.partition.reader import JointReader
from girih.passes.registry import run_pipeline

BEFORE = "autograd,decompose,canonicalize-graph,eliminate-common-subexpressions"


def parameters(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [(torch.randn(shape) * 0.1).requires_grad_() for shape in shapes]


def perceptron(x, target, w1, b1, w2, b2, w3, b3) -> Tensor:
    hidden = F.relu(F.linear(x, w1, b1))
    hidden = F.gelu(F.linear(hidden, w2, b2))
    return F.cross_entropy(F.linear(hidden, w3, b3), target)


def attention(x: Tensor, w: Tensor, out: Tensor) -> Tensor:
    batch, rows, width = x.shape
    parts = F.linear(x, w).view(batch, rows, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
    query, key, value = parts.unbind(0)
    weights = (query @ key.transpose(-1, -2) / width**0.5).softmax(-1)
    mixed = (weights @ value).transpose(1, 2).reshape(batch, rows, width)
    return F.linear(mixed, out)


def transformer(x, w, out, s1, o1, s2, o2, w1, b1, w2, b2) -> Tensor:
    """Two layers that share their weights."""
    for _ in range(2):
        x = x + attention(F.layer_norm(x, (32,), s1, o1), w, out)
        hidden = F.linear(F.layer_norm(x, (32,), s2, o2), w1, b1)
        x = x + F.linear(F.gelu(hidden, approximate="tanh"), w2, b2)
    return x.sum()


def convolutions(x, target, w1, scale, shift, w2, w3, b3) -> Tensor:
    x = F.conv2d(x, w1, padding=1)
    mean, variance = x.mean((0, 2, 3), keepdim=True), x.var((0, 2, 3), keepdim=True)
    x = F.relu((x - mean) * (variance + 1e-5).rsqrt() * scale + shift)
    x = F.max_pool2d(F.silu(F.conv2d(x, w2, padding=1)), 2)
    return F.cross_entropy(F.linear(x.flatten(1), w3, b3), target)


def perceptron_inputs() -> list[Tensor]:
    shapes = (128, 64), (128,), (128, 128), (128,), (10, 128), (10,)
    return [torch.randn(64, 64), torch.randint(0, 10, (64,)), *parameters(*shapes)]


def transformer_inputs() -> list[Tensor]:
    norms = [(32,)] * 4
    shapes = (96, 32), (32, 32), *norms, (128, 32), (128,), (32, 128), (32,)
    return [torch.randn(4, 16, 32).requires_grad_(), *parameters(*shapes)]


def convolution_inputs() -> list[Tensor]:
    shapes = (8, 1, 3, 3), (8, 1, 1), (8, 1, 1), (8, 8, 3, 3), (10, 512), (10,)
    return [torch.randn(4, 1, 16, 16), torch.randint(0, 10, (4,)), *parameters(*shapes)]


MODELS: dict[str, tuple[Callable, Callable]] = {
    "perceptron": (perceptron, perceptron_inputs),
    "transformer": (transformer, transformer_inputs),
    "convolutions": (convolutions, convolution_inputs),
}


def joint_module(function: Callable, inputs: list[Tensor]) -> ir.Module:
    """The joint function of a program, simplified."""
    graph = graph_of(function, len(inputs))
    module = import_graph(graph, inputs, gradients=True).module
    run_pipeline(module, BEFORE)
    return module


def plan_of(module: ir.Module, budget: float = 1.0) -> PartitionPlan:
    reader = JointReader(function_of(module), symbol_hint=64)
    return make_plan(reader.program, PartitionOptions(memory_budget=budget))


def bytes_of_eager(function: Callable, inputs: list[Tensor]) -> int:
    """What autograd keeps of tensors that are not the program's arguments."""
    own = {tensor.untyped_storage()._cdata for tensor in inputs}
    kept = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = function(*inputs)
    del result
    return sum(storage.nbytes() for storage in kept.values())


@pytest.mark.parametrize("name", MODELS)
def test_saves_no_more_than_eager(name: str) -> None:
    torch.manual_seed(0)
    function, make_inputs = MODELS[name]
    inputs = make_inputs()
    module = joint_module(function, inputs)
    with module.context, ir.Location.unknown():
        # A few small tensors more or less, such as a copy of integers.
        assert plan_of(module).bytes <= bytes_of_eager(function, inputs) * 1.01 + 4096


@pytest.mark.parametrize("name", MODELS)
def test_budgets_are_kept(name: str) -> None:
    torch.manual_seed(0)
    function, make_inputs = MODELS[name]
    module = joint_module(function, make_inputs())
    with module.context, ir.Location.unknown():
        most = plan_of(module).bytes
        for budget in (0.75, 0.5, 0.25):
            assert plan_of(module, budget).bytes <= budget * most
        assert plan_of(module, 0).bytes == 0


@pytest.mark.parametrize("budget", [0, 0.3, 1])
@pytest.mark.parametrize("name", MODELS)
def test_values(name: str, budget: float) -> None:
    torch.manual_seed(0)
    function, make_inputs = MODELS[name]
    inputs = make_inputs()
    function(*inputs).backward()
    module = joint_module(function, inputs)
    plain = [tensor.detach() for tensor in inputs]
    with module.context, ir.Location.unknown():
        expected = evaluate(module, [*plain, torch.ones(())])
        run_pipeline(module, f"partition{{memory-budget={budget}}}")
        verifier.verify(module)
        results, gradients = run_split(module, [*plain, torch.ones(())])
        marks = attributes_of(function_of(module, "backward"), "res_attrs")
        numbers = [mark["graph.gradient"].value for mark in marks]
    for actual, wanted in zip([*results, *gradients], expected, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=0, atol=0)
    for number, gradient in zip(numbers, gradients, strict=True):
        wanted = inputs[number].grad
        torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-5)
