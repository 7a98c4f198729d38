"""Derivatives of elementwise ops against torch's, with ties and special values."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from derivatives import check_module, check_op

from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes.registry import PassError, run_pipeline

INF, NAN = math.inf, math.nan

BINARY = {
    "add": (-2, 2),
    "atan2": (-2, 2),
    "copysign": (-2, 2),
    "div": (0.5, 2),
    "floor_divide": (0.5, 2),
    "fmod": (0.5, 2),
    "maximum": (-2, 2),
    "minimum": (-2, 2),
    "mul": (-2, 2),
    "pow": (0.5, 2),
    "remainder": (0.5, 2),
    "sub": (-2, 2),
    "trunc_divide": (0.5, 2),
}

SHAPES = [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 3)), ((0, 3), (1,)), ((1,), ())]


def between(low: float, high: float, *shape: int) -> torch.Tensor:
    return low + (high - low) * torch.rand(shape, dtype=torch.float64)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, shapes):
    x, y = (between(*BINARY[name], *shape) for shape in shapes)
    check_op(name, [x, y], order=3 if name in ("div", "mul", "pow") else 2)


def every_pair(values: list[float]) -> list[torch.Tensor]:
    pairs = itertools.product(values, values)
    return [
        torch.tensor(column, dtype=torch.float64) for column in zip(*pairs, strict=True)
    ]


@pytest.mark.parametrize("name", BINARY)
def test_special_values(name):
    values = [0.0, 1.0, -1.0, 2.0, -0.5, INF, -INF, NAN]
    if name == "copysign":
        # Eager divides the result by the operand: NaN where that is infinite or NaN.
        values = values[:5]
    check_op(name, every_pair(values), order=1)


POWER = """
func.func @main(%x: tensor<5xf64>) -> tensor<5xf64> {
  %n = "graph.constant"() {value = EXPONENT : f64} : () -> tensor<f64>
  %y = "graph.pow"(%x, %n) : (tensor<5xf64>, tensor<f64>) -> tensor<5xf64>
  return %y : tensor<5xf64>
}
"""


@pytest.mark.parametrize("exponent", [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 2.5])
def test_constant_exponents(exponent):
    text = POWER.replace("EXPONENT", repr(exponent))
    check_text(text, [between(0.5, 2, 5)], order=3 if exponent else 1)
    check_text(text, [torch.tensor([0.0, -1.0, INF, NAN, 1e-200]).double()], order=1)


@pytest.mark.parametrize("base", [0.0, 0.5, 2.0, -1.5])
def test_constant_bases(base):
    text = POWER.replace("EXPONENT", repr(base)).replace("(%x, %n)", "(%n, %x)")
    text = text.replace("(tensor<5xf64>, tensor<f64>)", "(tensor<f64>, tensor<5xf64>)")
    exponents = torch.tensor([0.0, 1.0, -1.0, 2.0, 3.0], dtype=torch.float64)
    check_text(text, [exponents], order=1)


def check_text(text: str, inputs: list[torch.Tensor], **options) -> None:
    with make_context(), ir.Location.unknown():
        check_module(ir.Module.parse(text), inputs, **options)


def test_where():
    condition = torch.tensor([[True], [False], [True]])
    check_op("where", [condition, between(-1, 1, 4), between(-1, 1, 3, 1)])
    check_op("where", [condition[0, 0], between(-1, 1), between(-1, 1, 2)])


def test_where_selects_infinities_only():
    bad = torch.tensor([INF, NAN, 1.0], dtype=torch.float64)
    good = torch.tensor([1.0, 2.0, NAN], dtype=torch.float64)
    check_op("where", [torch.tensor([False, False, True]), bad, good], order=1)


def test_cast():
    x = between(-3, 3, 5)
    check_op("cast", [x], result_types=[x.float()], tolerance=1e-6)
    check_op("cast", [x.float()], result_types=[x])


COMPLEX = """
func.func @main(%x: tensor<2x2xcomplex<f32>> {graph.requires_grad})
    -> tensor<2x2xcomplex<f32>> {
  %y = "graph.OP"(%x, %x) : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>)
      -> tensor<2x2xcomplex<f32>>
  return %y : tensor<2x2xcomplex<f32>>
}
"""


@pytest.mark.parametrize("name", ["mul", "div", "mm"])
def test_products_of_complex_numbers_are_left_to_eager(name):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(COMPLEX.replace("OP", name))
        with pytest.raises(PassError, match="of complex numbers has no derivative"):
            run_pipeline(module, "autograd")
