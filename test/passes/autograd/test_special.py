"""Derivatives of special functions against torch's."""

import math

import pytest
import torch
from derivatives import check_op

# name: where the function is smooth, and the highest order that is compared
SPECIAL = {
    "entr": (0.1, 3, 3),
    "erfcx": (-2, 3, 3),
    "erfinv": (-0.9, 0.9, 3),
    "i0": (0.5, 9, 3),
    "i0e": (0.5, 9, 3),
    "i1": (0.5, 9, 3),
    "i1e": (0.5, 9, 3),
    "log_ndtr": (-4, 4, 3),
}


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5)], ids=str)
@pytest.mark.parametrize("name", SPECIAL)
def test_function(name, shape):
    low, high, order = SPECIAL[name]
    x = low + (high - low) * torch.rand(shape, dtype=torch.float64)
    check_op(name, [x], order=order, tolerance=1e-7)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1e-9, 1e-300, 3.5, -2.5, math.nan]
    check_op(name, [torch.tensor(values, dtype=torch.float64)], order=1)
