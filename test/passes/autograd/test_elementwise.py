"""Derivatives of elementwise ops against torch's."""

import torch
from derivatives import check_op


def test_mul():
    x = torch.randn(3, 1, dtype=torch.float64)
    y = torch.randn(4, dtype=torch.float64)
    check_op("mul", [x, y], order=3)


def test_sin():
    check_op("sin", [torch.randn(5, dtype=torch.float64)], order=4)
