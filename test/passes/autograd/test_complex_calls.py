"""Derivatives of complex arithmetic against torch's."""

import pytest
import torch
from derivatives import check_op

from girih.dialects.attributes import OperandRef, TorchConstant

X, Y, Z = (OperandRef(number) for number in range(3))
COMPLEX = torch.complex128


def random(*shape, dtype=COMPLEX):
    return torch.randn(shape, dtype=dtype)


def real(*shape):
    return random(*shape, dtype=torch.float64)


def call(name, tensors, arguments, results, order=3, **keywords):
    """Checks the derivatives of a call; tensors in ``arguments`` are operands."""
    attributes = {"op": name, "args": arguments, "kwargs": keywords}
    check_op("extern", [tensors], attributes, order=order, result_types=results)


@pytest.mark.parametrize("name", ["add", "div", "mul", "sub"])
class TestArithmetic:
    def test_of_one_shape(self, name):
        x = random(3, 2)
        call(f"aten.{name}.Tensor", [x, random(3, 2)], [X, Y], [x])

    def test_broadcast(self, name):
        x = random(3, 2)
        call(f"aten.{name}.Tensor", [x, random(1, 2)], [X, Y], [x])
        call(f"aten.{name}.Tensor", [random(2), x], [X, Y], [x])
        call(f"aten.{name}.Tensor", [random(), x], [X, Y], [x])

    def test_with_reals(self, name):
        x = random(3, 2)
        call(f"aten.{name}.Tensor", [x, real(3, 2)], [X, Y], [x])
        call(f"aten.{name}.Tensor", [real(3, 1), x], [X, Y], [x])

    def test_with_itself(self, name):
        x = random(3)
        call(f"aten.{name}.Tensor", [x], [X, X], [x])

    @pytest.mark.parametrize("number", [2, -0.5, 1 + 2j])
    def test_with_numbers(self, name, number):
        x = random(3)
        call(f"aten.{name}.Tensor", [x], [X, number], [x])

    def test_of_reals_with_a_complex_number(self, name):
        call(f"aten.{name}.Tensor", [real(3)], [X, 1 - 2j], [random(3)])


@pytest.mark.parametrize("name", ["add", "sub"])
def test_scaled_sums(name):
    x = random(3)
    call(f"aten.{name}.Tensor", [x, random(3)], [X, Y], [x], alpha=2 + 1j)


@pytest.mark.parametrize("name", ["clone", "exp", "neg", "reciprocal", "square"])
def test_functions(name):
    x = random(3, 2)
    call(f"aten.{name}.default", [x], [X], [x])


@pytest.mark.parametrize("exponent", [2, 3, -1, 0.5, 1 + 1j])
def test_powers(exponent):
    x = random(3, 2)
    call("aten.pow.Tensor_Scalar", [x], [X, exponent], [x], order=2)


def test_parts():
    x = random(3, 2)
    call("aten.complex.default", [real(3, 2), real(2)], [X, Y], [x])
    call("aten.abs.default", [x], [X], [real(3, 2)], order=2)


def test_conversions():
    dtype = TorchConstant("dtype", "complex128")
    call("aten._to_copy.default", [real(3)], [X], [random(3)], dtype=dtype)


def test_selections():
    x, condition = random(3, 2), torch.tensor([True, False])
    call("aten.where.self", [condition, x, random(1, 2)], [X, Y, Z], [x])


@pytest.mark.parametrize("name", ["mean", "sum"])
def test_sums(name):
    x = random(3, 2, 4)
    along = {"mean": "aten.mean.dim", "sum": "aten.sum.dim_IntList"}[name]
    call(f"aten.{name}.default", [x], [X], [random()])
    call(along, [x], [X, (1,)], [random(3, 4)])
    call(along, [x], [X, (0, -1), True], [random(1, 2, 1)])
    call(along, [x], [X, ()], [random()])
