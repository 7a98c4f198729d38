"""Modes on an emulated GPU, which can neither record graphs nor measure kernels."""

import pytest
import torch
from torch.nn import functional as F

import girih

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def function(x, weight):
    return F.softmax(F.gelu(x @ weight), -1).sum(0)


@pytest.mark.parametrize("mode", MODES)
def test_results(device, mode):
    compiled = girih.compile(function, mode=mode, fullgraph=True)
    for size in (64, 64, 65):
        x, weight = torch.randn(size, 33), torch.randn(33, 48)
        with torch.no_grad():
            actual = compiled(x, weight)
        torch.testing.assert_close(actual, function(x, weight), rtol=1e-4, atol=1e-5)
    assert device.launched
    for graph in girih.report(compiled).graphs:
        assert graph.fallback is None


@pytest.mark.parametrize("mode", MODES)
def test_gradients(mode):
    compiled = girih.compile(function, mode=mode, fullgraph=True)
    x, weight = torch.randn(20, 33), torch.randn(33, 48)
    gradients = []
    for call in (compiled, function):
        leaves = [value.clone().requires_grad_() for value in (x, weight)]
        call(*leaves).square().sum().backward()
        gradients.append([leaf.grad for leaf in leaves])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_dropout_draws_the_same_numbers_for_a_seed(device):
    """Forward and backward pass agree which elements are dropped."""
    compiled = girih.compile(lambda x: F.dropout(x, 0.25), fullgraph=True)
    results = []
    for _ in range(2):
        torch.manual_seed(7)
        x = torch.ones(10_000, requires_grad=True)
        result = compiled(x)
        result.sum().backward()
        assert torch.equal(result, x.grad)
        results.append(result.detach())
    assert torch.equal(*results)
    assert abs((results[0] == 0).float().mean().item() - 0.25) < 0.03
    assert results[0].unique().tolist() == pytest.approx([0, 4 / 3])
    assert not torch.equal(results[0], compiled(x))
    assert device.launched
