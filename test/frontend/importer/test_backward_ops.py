"""ATen's backward ops, as transforms of ``torch.func`` bring them, become kernels."""

from __future__ import annotations

import itertools

import pytest
import torch
from importing import assert_imports

aten = torch.ops.aten
DTYPES = [torch.float32, torch.float64, torch.bfloat16]
MASKS = [mask for mask in itertools.product([True, False], repeat=3) if any(mask)]


def randn(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (4, 0), ()])
def test_softmax(dtype, shape):
    dim = len(shape) - 1
    g, x = randn(*shape, dtype=dtype), randn(*shape, dtype=dtype)
    for name, forward in (("_softmax", x.softmax), ("_log_softmax", x.log_softmax)):
        backward = getattr(aten, name + "_backward_data")
        y = forward(dim)
        assert_imports(lambda g, y, f=backward: f(g, y, dim, dtype), g, y, native=True)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("weighted", [True, False])
def test_layer_norm(mask, weighted):
    x, g = randn(2, 3, 5), randn(2, 3, 5)
    weight, bias = (randn(3, 5), randn(3, 5)) if weighted else (None, None)
    if not weighted:
        mask = (True, False, False)
    _, mean, rstd = torch.native_layer_norm(x, (3, 5), weight, bias, 1e-5)

    def backward(g, x, mean, rstd):
        results = aten.native_layer_norm_backward(
            g, x, (3, 5), mean, rstd, weight, bias, mask
        )
        return [result for result in results if result is not None]

    assert_imports(backward, g, x, mean, rstd, native=True)


@pytest.mark.parametrize("mask", MASKS)
def test_group_norm(mask):
    x, g, weight = randn(2, 6, 5), randn(2, 6, 5), randn(6)
    _, mean, rstd = aten.native_group_norm(x, weight, weight, 2, 6, 5, 3, 1e-5)

    def backward(g, x, mean, rstd, weight):
        results = aten.native_group_norm_backward(
            g, x, mean, rstd, weight, 2, 6, 5, 3, mask
        )
        return [result for result in results if result is not None]

    assert_imports(backward, g, x, mean, rstd, weight, native=True)


@pytest.mark.parametrize("mask", [mask for mask in MASKS if mask[0]])
@pytest.mark.parametrize("train", [True, False])
def test_batch_norm(mask, train):
    x, g, weight = randn(4, 3, 5), randn(4, 3, 5), randn(3)
    running = randn(3), randn(3).abs()
    _, mean, rstd = torch.native_batch_norm(
        x, weight, weight, None, None, True, 0, 1e-5
    )

    def backward(g, x, weight, mean, variance, own_mean, rstd):
        statistics = mean, variance, own_mean, rstd
        results = aten.native_batch_norm_backward(
            g, x, weight, *statistics, train, 1e-5, mask
        )
        return [result for result in results if result is not None]

    assert_imports(backward, g, x, weight, *running, mean, rstd, native=True)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", [(4, 7), (7,), (2, 7, 3, 2)])
def test_nll_loss(reduction, weighted, shape):
    x = randn(*shape)
    target = torch.randint(0, 7, (*shape[:1], *shape[2:]) if shape[1:] else ())
    weight = randn(7).abs() if weighted else None
    name = "nll_loss2d" if len(shape) == 4 else "nll_loss"
    forward = getattr(aten, name + "_forward")
    ignored = int(target.flatten()[0]) if len(shape) > 1 else -100

    def both(x, target, weight):
        return forward(x, target, weight, reduction, ignored)

    loss, total = both(x, target, weight)
    assert_imports(both, x, target, weight, native=True)

    def backward(g, x, target, weight, total):
        f = getattr(aten, name + "_backward")
        return f(g, x, target, weight, reduction, ignored, total)

    g = torch.randn_like(loss)
    assert_imports(backward, g, x, target, weight, total, native=True)


def test_masked_softmax():
    x = randn(3, 5)
    x[1] = -torch.inf
    x[2, 3] = -torch.inf
    assert_imports(lambda x: aten._safe_softmax(x, -1), x, native=True)
