"""Derivatives of reductions against torch's."""

import pytest
import torch
from derivatives import check_op

SHAPES = [((3, 5), (1,)), ((3, 5), (0, 1)), ((2, 3, 4), (0, 2)), ((1, 7), (1,))]
SHAPES += [((4, 0), (0,)), ((5, 1), (1,)), ((2, 3), ())]

nan = float("nan")


def randn(*shape):
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "mean", "var"])
@pytest.mark.parametrize(("shape", "dims"), SHAPES)
def test_arithmetic(name, shape, dims):
    if dims == () and name != "reduce_sum":
        pytest.skip("for torch no dims mean all")
    check_op(name, [randn(*shape)], {"dims": dims}, order=3)


@pytest.mark.parametrize("correction", [0.0, 1.0, 0.5, 3.0, 4.0])
def test_var_with_correction(correction):
    attributes = {"dims": (1,), "correction": correction}
    check_op("var", [randn(2, 3)], attributes, order=2 if correction < 3 else 1)


@pytest.mark.parametrize("zeros", [1, 2, 3, 4])
@pytest.mark.parametrize("dims", [(1,), (0, 1)])
def test_products_of_zeros(zeros, dims):
    x = randn(2, 5)
    x[1, torch.randperm(5)[:zeros]] = 0
    check_op("reduce_prod", [x], {"dims": dims}, order=4)


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_products_of_all_dims_but_one(size):
    x = randn(2, size, 3).round()
    check_op("reduce_prod", [x], {"dims": (0, 1)}, order=3)


TIES = [[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0], [-1.0, 0.0, 1.0, 2.0]]


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("ties", [None, "nan", "first"])
@pytest.mark.parametrize("dim", [0, 1])
def test_ties(name, ties, dim):
    x = torch.tensor(TIES, dtype=torch.float64)
    attributes = {"dims": (dim,)} | ({"ties": ties} if ties else {})
    check_op(name, [x], attributes)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("ties", [None, "nan", "first"])
def test_nan(name, ties):
    x = torch.tensor([[nan, 1.0, nan], [1.0, 2.0, 2.0]], dtype=torch.float64)
    if ties == "nan":
        x = x[:1]
    attributes = {"dims": (0, 1) if ties == "nan" else (1,)}
    attributes |= {"ties": ties} if ties else {}
    check_op(name, [x], attributes, order=1)
