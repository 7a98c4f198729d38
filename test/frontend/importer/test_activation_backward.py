"""ATen's backward ops of activations and losses, as ``torch.func`` brings them."""

from __future__ import annotations

import math

import pytest
import torch
from importing import assert_imports

aten = torch.ops.aten

# Of the gradient and the operand.
OF_OPERAND = {
    "elu": lambda g, x: aten.elu_backward(g, 1.5, 1.2, 0.8, False, x),
    "gelu": aten.gelu_backward,
    "gelu-tanh": lambda g, x: aten.gelu_backward(g, x, approximate="tanh"),
    "hardshrink": lambda g, x: aten.hardshrink_backward(g, x, 0.5),
    "hardsigmoid": aten.hardsigmoid_backward,
    "hardswish": aten.hardswish_backward,
    "hardtanh": lambda g, x: aten.hardtanh_backward(g, x, -1, 1),
    "leaky_relu": lambda g, x: aten.leaky_relu_backward(g, x, 0.1, False),
    "log_sigmoid": lambda g, x: log_sigmoid_backward(g, x),
    "mish": aten.mish_backward,
    "silu": aten.silu_backward,
    "softplus": lambda g, x: aten.softplus_backward(g, x, 2, 5),
    "softshrink": lambda g, x: aten.softshrink_backward(g, x, 0.5),
    "threshold": lambda g, x: aten.threshold_backward(g, x, 0.5),
}
# Of the gradient and the result.
OF_RESULT = {
    "elu": lambda g, y: aten.elu_backward(g, 1.5, 1.2, 0.8, True, y),
    "sigmoid": aten.sigmoid_backward,
    "tanh": aten.tanh_backward,
}


def log_sigmoid_backward(g, x):
    _, buffer = aten.log_sigmoid_forward(x)
    return aten.log_sigmoid_backward(g, x, buffer)


def with_kinks(dtype=torch.float64):
    # Not NaN: the vectors of ATen's kernels and their last elements disagree on it.
    values = [0, -0.5, 0.5, 1, -1, 3, -3, 2.5, 40, -40, math.inf, -math.inf]
    return torch.cat([torch.tensor(values), torch.randn(7)]).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", OF_OPERAND)
def test_of_operand(name, dtype):
    x = with_kinks(dtype)
    assert_imports(OF_OPERAND[name], torch.randn(len(x)).to(dtype), x, native=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", OF_RESULT)
def test_of_result(name, dtype):
    g, y = torch.randn(9).to(dtype), torch.rand(9).to(dtype)
    assert_imports(OF_RESULT[name], g, y, native=True)


def test_glu():
    g, x = torch.randn(3, 2), torch.randn(3, 4)
    assert_imports(lambda g, x: aten.glu_backward(g, x, 1), g, x, native=True)


def test_prelu():
    g, x, weight = torch.randn(2, 3, 4), torch.randn(2, 3, 4), torch.rand(1, 3, 1)
    assert_imports(aten._prelu_kernel_backward, g, x, weight, native=True)


LOSSES = {
    "huber": lambda g, x, y, r: aten.huber_loss_backward(g, x, y, r, 0.7),
    "mse": aten.mse_loss_backward,
    "smooth_l1": lambda g, x, y, r: aten.smooth_l1_loss_backward(g, x, y, r, 0.7),
    "soft_margin": aten.soft_margin_loss_backward,
}


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, reduction):
    x, y = torch.randn(2, 3, 4)
    g = torch.randn(()) if reduction else torch.randn(3, 4)
    function = LOSSES[name]
    assert_imports(lambda g, x, y: function(g, x, y, reduction), g, x, y, native=True)


def test_of_results_inside_of_transforms():
    def gradients(x):
        layers = [torch.relu, torch.sigmoid, torch.nn.functional.gelu]
        return [torch.func.grad(lambda v, f=f: f(v).sum())(x) for f in layers]

    assert_imports(gradients, torch.randn(5), native=True)


def test_rrelu_writes_the_slopes_that_it_draws():
    x, noise = torch.randn(20), torch.zeros(20)

    def call(x, noise):
        drawn = aten.rrelu_with_noise(x, noise, 0.1, 0.3, True)
        return drawn, aten.rrelu_with_noise(x, noise, 0.1, 0.3, False)

    assert_imports(call, x, noise)
