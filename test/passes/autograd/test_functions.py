"""Derivatives of functions of one operand against torch's."""

from __future__ import annotations

import math

import pytest
import torch
from derivatives import check_op

INF, NAN = math.inf, math.nan

# name: where the function is smooth, and the highest order that is compared
UNARY = {
    "abs": (-2, 2, 2),
    "acos": (-0.8, 0.8, 3),
    "acosh": (1.5, 3, 3),
    "asin": (-0.8, 0.8, 3),
    "asinh": (-2, 2, 3),
    "atan": (-2, 2, 3),
    "atanh": (-0.8, 0.8, 3),
    "ceil": (-2, 2, 1),
    "cos": (-2, 2, 4),
    "cosh": (-2, 2, 3),
    "erf": (-2, 2, 3),
    "erfc": (-2, 2, 3),
    "exp": (-2, 2, 4),
    "exp2": (-2, 2, 3),
    "expm1": (-2, 2, 3),
    "floor": (-2, 2, 1),
    "log": (0.5, 2, 3),
    "log10": (0.5, 2, 3),
    "log1p": (-0.5, 2, 3),
    "log2": (0.5, 2, 3),
    "neg": (-2, 2, 2),
    "reciprocal": (0.5, 2, 3),
    "relu": (-2, 2, 2),
    "round": (-2, 2, 1),
    "rsqrt": (0.5, 2, 3),
    "sigmoid": (-2, 2, 4),
    "sign": (-2, 2, 1),
    "sin": (-2, 2, 4),
    "sinh": (-2, 2, 3),
    "sqrt": (0.5, 2, 3),
    "tan": (-1, 1, 3),
    "tanh": (-2, 2, 4),
    "trunc": (-2, 2, 1),
}


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5)], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_function(name, shape):
    low, high, order = UNARY[name]
    x = low + (high - low) * torch.rand(shape, dtype=torch.float64)
    check_op(name, [x], order=order)


@pytest.mark.parametrize("name", UNARY)
def test_special_values(name):
    values = [0.0, -0.0, 1.0, -1.0, 3.5, -2.5, 1e-300, 1e300, INF, -INF, NAN]
    check_op(name, [torch.tensor(values, dtype=torch.float64)], order=1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", UNARY)
def test_small_floats(name, dtype):
    low, high, _ = UNARY[name]
    x = (low + (high - low) * torch.rand(20)).to(dtype)
    eps = torch.finfo(dtype).eps
    check_op(name, [x], order=1, tolerance=(4 if dtype == torch.float32 else 2) * eps)
