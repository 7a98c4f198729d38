"""Modules for tests of freezing, as after training, and what they compute."""

from __future__ import annotations

import torch
from torch import nn

import girih

OPTIONS = {"freezing": True, "fallback": False}
ACTIVATIONS = {
    "none": nn.Identity(),
    "relu": nn.ReLU(),
    "relu6": nn.ReLU6(),
    "hardtanh": nn.Hardtanh(-0.5, 0.25),
    "hardswish": nn.Hardswish(),
    "hardsigmoid": nn.Hardsigmoid(),
    "silu": nn.SiLU(),
    "gelu": nn.GELU(),
    "gelu tanh": nn.GELU(approximate="tanh"),
    "leaky": nn.LeakyReLU(0.2),
    "sigmoid": nn.Sigmoid(),
    "tanh": nn.Tanh(),
    "softplus": nn.Softplus(),
}


def settle(module: nn.Module) -> nn.Module:
    """Gives batch norms statistics and weights as after training."""
    for each in module.modules():
        if isinstance(each, nn.modules.batchnorm._BatchNorm):
            each.running_mean.normal_()
            each.running_var.uniform_(0.5, 2)
            if each.affine:
                nn.init.normal_(each.weight)
                nn.init.normal_(each.bias)
    return module.eval()


def frozen(module, **options):
    """A module, compiled with freezing."""
    return girih.compile(module, options=OPTIONS | options)


def assert_like(compiled, module, *inputs):
    """Holds what a compiled module computes against eager."""
    with torch.no_grad():
        torch.testing.assert_close(
            compiled(*inputs), module(*inputs), rtol=1e-4, atol=1e-4
        )
