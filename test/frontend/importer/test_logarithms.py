"""Logarithms of several steps, and extrema, at special values."""

from __future__ import annotations

import math

import pytest
import torch
from importing import assert_imports

VALUES = [0.0, -0.0, 0.3, 0.5, 0.7, 1.0, 2.0, -1.0, math.inf, -math.inf, math.nan]

BINARY = {
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "logaddexp": torch.logaddexp,
    "xlog1py": torch.special.xlog1py,
    "xlogy": torch.xlogy,
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    x = torch.tensor(VALUES, dtype=dtype)
    assert_imports(BINARY[name], x[:, None], x, native=True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, torch.bool])
def test_extrema_of_integers(dtype):
    x = torch.arange(5).to(dtype)
    assert_imports(lambda x, y: (torch.fmax(x, y), torch.fmin(x, y)), x, x.flip(0))


@pytest.mark.parametrize("eps", [None, 0.4])
def test_logit(eps):
    # Not -0.0: the vectors of ATen's kernel and its last elements disagree on it.
    x = torch.tensor(VALUES[2:], dtype=torch.float64)
    assert_imports(lambda x: torch.logit(x, eps), x, native=True)
    g = torch.ones_like(x)
    backward = torch.ops.aten.logit_backward
    assert_imports(lambda g, x: backward(g, x, eps), g, x, native=True)


@pytest.mark.parametrize(
    "factors", [{}, {"beta": 0.5, "alpha": 2}, {"beta": 0}], ids=str
)
def test_addmv(factors):
    bias = torch.full((3,), math.nan) if factors == {"beta": 0} else torch.randn(3)
    mat, vec = torch.randn(3, 4), torch.randn(4)
    assert_imports(lambda *x: torch.addmv(*x, **factors), bias, mat, vec, native=True)
