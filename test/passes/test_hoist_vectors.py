"""What ``hoist-vectors`` computes before a kernel is what the kernel would compute."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import girih


def _image(channels, size=24, count=2):
    torch.manual_seed(0)
    x = torch.randn(count, channels, size, size)
    return x.to(memory_format=torch.channels_last)


def _kernels(compiled) -> int:
    return girih.report(compiled).graphs[0].kernels


PROGRAMS = {
    "root": lambda x, v: (x * (v.abs() + 1e-5).rsqrt()[:, None, None]).relu(),
    "two": lambda x, v: x / v.exp()[:, None, None] + v.sigmoid()[:, None, None],
    "nested": lambda x, v: (x * v.exp()[:, None, None]) / v.exp().sqrt()[:, None, None],
    "whole": lambda x, v: x + v.tanh().reshape(1, -1, 1, 1).expand(x.shape),
    "positions": lambda x, v: x * torch.arange(len(v)).cos()[:, None, None] * v[0],
    "two_results": lambda x, v: (
        x * v.exp()[:, None, None],
        x - v.exp()[:, None, None],
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name, dtype):
    f = PROGRAMS[name]
    x, v = _image(48).to(dtype), torch.randn(48).to(dtype)
    compiled = girih.compile(f, options={"fallback": False})
    actual, eager = compiled(x, v), f(x, v)
    exact = f(x.double(), v.double())
    for pair in zip(*map(_tensors, (actual, eager, exact)), strict=True):
        ours, usual = ((y - pair[2]).abs().max() for y in pair[:2])
        assert ours <= 2 * usual + 1e-6


def _tensors(result) -> list[torch.Tensor]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("training", [False, True])
def test_batch_norms(training):
    layers = nn.Sequential(nn.BatchNorm2d(48), nn.ReLU(), nn.BatchNorm2d(48))
    layers.double().train(training)
    x, twin = _image(48).double(), copy.deepcopy(layers)
    compiled = girih.compile(layers, options={"fallback": False})
    pairs = []
    for f, module in ((compiled, layers), (twin, twin)):
        own = x.clone().requires_grad_()
        y = f(own)
        y.square().sum().backward()
        pairs.append([y, own.grad, *(p.grad for p in module.parameters())])
    for ours, expected in zip(*pairs, strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("stride", [1, 2])
def test_behind_products(stride):
    layers = nn.Sequential(nn.Conv2d(16, 48, 1, stride), nn.BatchNorm2d(48), nn.ReLU())
    layers.eval()
    x = _image(16, size=40)
    compiled = girih.compile(layers, options={"fallback": False})
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), layers(x))


def test_numbers_of_columns_behind_reductions():
    def f(x, v):
        y = torch.nn.functional.layer_norm(x, (96,))
        return y / v.exp() + v.sigmoid()

    x, v = torch.randn(400, 96), torch.randn(96)
    compiled = girih.compile(f, options={"fallback": False})
    torch.testing.assert_close(compiled(x, v), f(x, v))
    assert _kernels(compiled) == 2


def test_only_where_the_kernel_goes_along_them():
    f, v = PROGRAMS["root"], torch.randn(48)
    for x, kernels in (
        (_image(48), 2),
        (_image(48).contiguous(), 1),
        (_image(48, 3), 1),
    ):
        compiled = girih.compile(f, options={"fallback": False})
        torch.testing.assert_close(compiled(x, v), f(x, v))
        assert _kernels(compiled) == kernels
