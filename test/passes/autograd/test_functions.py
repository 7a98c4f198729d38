"""Derivatives of functions of one operand against torch's."""

from __future__ import annotations

import math

import pytest
import torch
from derivatives import check_op

from girih.dialects import graph
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.dialects.graph.formulas import Gradient, NoGradient, of_operand, of_result
from girih.passes.autograd import NOT_DIFFERENTIABLE, RULES
from girih.passes.autograd.functions import rule_of
from girih.passes.autograd.rules import VjpBuilder

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


FUNCTION = """
func.func @f(%x: tensor<4xbf16>, %g: tensor<4xbf16>) -> tensor<4xbf16> {
  %y = "graph.exp"(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
  return %y : tensor<4xbf16>
}
"""


@pytest.mark.parametrize(
    ("gradient", "expected"),
    [
        (
            of_operand(lambda f, g, x: -(1 - g / f.sin(x))),
            "exp cast cast sin div constant sub neg cast",
        ),
        (of_result(lambda f, g, y: g * y - 2), "exp cast cast mul constant sub cast"),
    ],
)
def test_a_formula_makes_these_ops(gradient, expected):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(FUNCTION)
        block = module.body.operations[0].regions[0].blocks[0]
        op, end = block.operations
        b = VjpBuilder(ir.InsertionPoint(end), set(op.operands))
        (made,) = rule_of(gradient)(op, [block.arguments[1]], b)
        names = [each.operation.name for each in block.operations]
        assert names == [*(f"graph.{n}" for n in expected.split()), "func.return"]
        assert made.type == op.x.type
        known = block.operations[2].x
        assert known == getattr(op, gradient.known)
        end.operation.operands[0] = made
        assert module.operation.verify()


def test_what_classes_declare_is_registered():
    declared = {cls.SHORT_NAME: cls.GRADIENT for cls in graph.OPS.values()}
    formulas = {name for name, g in declared.items() if isinstance(g, Gradient)}
    assert len(formulas) > 20 and formulas <= set(RULES)
    reasons = {n: g.reason for n, g in declared.items() if isinstance(g, NoGradient)}
    assert len(reasons) > 20
    assert reasons.items() <= NOT_DIFFERENTIABLE.items()
