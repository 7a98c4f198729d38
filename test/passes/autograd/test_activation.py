"""Derivatives of activations against torch's, at their kinks too."""

from __future__ import annotations

import math

import pytest
import torch
from derivatives import check_op

INF, NAN = math.inf, math.nan

# id: (op, attributes, highest order that is compared, points where it has a kink)
ACTIVATIONS = {
    "celu": ("elu", {"alpha": 1.5, "input_scale": 1 / 1.5}, 2, (0,)),
    "elu": ("elu", {}, 2, (0,)),
    "gelu": ("gelu", {"approximate": "none"}, 3, ()),
    "gelu-tanh": ("gelu", {"approximate": "tanh"}, 3, ()),
    "hardsigmoid": ("hardsigmoid", {}, 1, (-3, 3)),
    "hardswish": ("hardswish", {}, 2, (-3, 3)),
    "hardtanh": ("hardtanh", {"min_value": -1.0, "max_value": 2.0}, 2, (-1, 2)),
    "leaky_relu": ("leaky_relu", {"negative_slope": 0.2}, 2, (0,)),
    "log_sigmoid": ("log_sigmoid", {}, 3, ()),
    "mish": ("mish", {}, 3, ()),
    "selu": ("elu", {"alpha": 1.6732632, "scale": 1.050701}, 2, (0,)),
    "silu": ("silu", {}, 3, ()),
    "softplus": ("softplus", {"beta": 2.0, "threshold": 3.0}, 2, (1.5,)),
}


@pytest.mark.parametrize("shape", [(), (0, 2), (1,), (3, 5)], ids=str)
@pytest.mark.parametrize("key", ACTIVATIONS)
def test_activation(key, shape):
    name, attributes, order, _ = ACTIVATIONS[key]
    x = 3 * torch.randn(shape, dtype=torch.float64)
    check_op(name, [x], attributes, order=order, tolerance=1e-7)


@pytest.mark.parametrize("key", ACTIVATIONS)
def test_special_values(key):
    name, attributes, _, kinks = ACTIVATIONS[key]
    values = [0.0, -0.0, 1e-300, 40.0, -40.0, 800.0, -800.0, INF, -INF, NAN, *kinks]
    x = torch.tensor(values, dtype=torch.float64)
    # Eager's 1/6 of hardsigmoid is a float32.
    check_op(name, [x], attributes, order=1, tolerance=1e-7)


@pytest.mark.parametrize("key", sorted(ACTIVATIONS.keys() - {"hardsigmoid", "mish"}))
def test_large_values_have_second_derivatives(key):
    # Eager has none for hardsigmoid, and NaN for mish, where exp overflows.
    name, attributes, _, _ = ACTIVATIONS[key]
    x = torch.tensor([100.0, -100.0, 800.0, -800.0], dtype=torch.float64)
    check_op(name, [x], attributes, order=2, tolerance=1e-7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("key", ACTIVATIONS)
def test_small_floats(key, dtype):
    name, attributes, _, _ = ACTIVATIONS[key]
    tolerance = (8 if dtype == torch.float32 else 2) * torch.finfo(dtype).eps
    x = torch.randn(50).to(dtype)
    check_op(name, [x], attributes, order=1, tolerance=tolerance)


def test_bounds_between_two_small_floats():
    x = torch.tensor([0.69921875, 0.703125], dtype=torch.bfloat16)
    check_op("hardtanh", [x], {"min_value": -1.0, "max_value": 0.7}, order=1)


def every_combination(*columns: list[float]) -> list[torch.Tensor]:
    grids = torch.meshgrid(*map(torch.tensor, columns), indexing="ij")
    return [grid.reshape(-1).double() for grid in grids]


def test_clamp():
    x, low, high = every_combination([-2.0, -1, 0, 1, 2, NAN, INF], [-1.0, 1], [0, 1.0])
    check_op("clamp", [x, low, high], order=2)
    check_op("clamp", [x, low, None], order=2)
    check_op("clamp", [x, None, high], order=2)


def test_clamp_broadcasts():
    x = torch.randn(3, 4, dtype=torch.float64)
    low, high = (
        torch.tensor(-0.5).double(),
        torch.tensor([[0.1], [0.9], [-1.0]]).double(),
    )
    check_op("clamp", [x, low, high])
    check_op("clamp", [low, x, None])
