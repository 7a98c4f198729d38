"""Derivatives of matrix products against torch's."""

from __future__ import annotations

import pytest
import torch
from derivatives import check_module, check_op

from girih.dialects.bindings import ir
from girih.dialects.context import make_context


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize("sizes", [(2, 3, 4), (1, 1, 1), (0, 3, 2), (2, 0, 3)], ids=str)
def test_mm(sizes):
    m, k, n = sizes
    check_op("mm", [normal(m, k), normal(k, n)], order=3)


def test_bmm():
    check_op("bmm", [normal(3, 2, 4), normal(3, 4, 5)], order=3)


@pytest.mark.parametrize("bias", [(), (1,), (4,), (2, 1), (2, 4)], ids=str)
@pytest.mark.parametrize("factors", [{}, {"beta": 2, "alpha": 0.5}], ids=str)
def test_addmm(bias, factors):
    check_op("addmm", [normal(*bias), normal(2, 3), normal(3, 4)], factors)


def test_baddbmm():
    operands = [normal(2, 1, 5), normal(2, 3, 4), normal(2, 4, 5)]
    check_op("baddbmm", operands, {"beta": 0.5, "alpha": -2.0})


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3), (0, 3)], ids=str)
def test_linear(batch, has_bias):
    bias = normal(4) if has_bias else None
    check_op("linear", [normal(*batch, 3), normal(4, 3), bias], order=3)


TRANSPOSED = """
func.func @main(%x: tensor<2x3xf64>, %w: tensor<4x3xf64>) -> tensor<2x4xf64> {
  %t = "graph.permute"(%w) {permutation = array<i64: 1, 0>}
      : (tensor<4x3xf64>) -> tensor<3x4xf64>
  %y = "graph.mm"(%x, %t) : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}
"""


def test_transposed_operands():
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(TRANSPOSED)
        check_module(module, [normal(2, 3), normal(4, 3)], order=3)
