"""Derivatives of the ops of differentiation: alias, substitute, custom_vjp."""

from __future__ import annotations

import pytest
import torch
from derivatives import check_module, check_op

from girih.dialects.bindings import ir
from girih.dialects.context import make_context


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def test_alias():
    check_op("alias", [normal(3)])


PROGRAMS = {
    # The value is the product's, the derivative the sine's.
    "substitute": """
      %a = "graph.mul"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
      %b = "graph.sin"(%x) : (tensor<4xf64>) -> tensor<4xf64>
      %z = "graph.substitute"(%a, %b)
          : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    """,
    # The gradients are no derivatives of the value; y's stands for zeros.
    "custom_vjp": """
      %a = "graph.mul"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
      %z = "graph.custom_vjp"(%a, %x, %y) ({
      ^bb(%g: tensor<4xf64>):
        %c = "graph.cos"(%x) : (tensor<4xf64>) -> tensor<4xf64>
        %d = "graph.mul"(%g, %c) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
        %e = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f64>
        "graph.yield"(%d, %e) : (tensor<4xf64>, tensor<f64>) -> ()
      }) {operandSegmentSizes = array<i32: 1, 2>}
          : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    """,
    # The derivative goes on through what the region uses of the output.
    "custom_vjp of its output": """
      %a = "graph.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>
      %z = "graph.custom_vjp"(%a, %x) ({
      ^bb(%g: tensor<4xf64>, %out: tensor<4xf64>):
        %d = "graph.mul"(%g, %out) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
        "graph.yield"(%d) : (tensor<4xf64>) -> ()
      }) {operandSegmentSizes = array<i32: 1, 1>}
          : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_that_are_given(name):
    head = "func.func @main(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {"
    text = f"{head}{PROGRAMS[name]} return %z : tensor<4xf64> }}"
    with make_context(), ir.Location.unknown():
        check_module(ir.Module.parse(text), [normal(4), normal(4)], order=3)
