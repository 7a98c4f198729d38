"""Derivatives of softmax and normalisations against torch's."""

import pytest
import torch
from derivatives import check_op


def randn(*shape):
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    ("shape", "dim"), [((3, 5), 1), ((3, 5), 0), ((2, 0), 1), ((7, 1), 1), ((), 0)]
)
def test_softmax(name, shape, dim):
    check_op(name, [randn(*shape)], {"dim": dim}, order=3)


def test_softmax_of_masked_rows():
    x = randn(3, 5)
    x[0, 1] = x[2, 3:] = -float("inf")
    check_op("softmax", [x], {"dim": 1})


# With a bias alone torch 2.13 has no second derivative, and for groups not a first one.
PARAMETERS = [(True, True), (True, False), (False, True), (False, False)]
ORDER = {which: 1 if which == (False, True) else 2 for which in PARAMETERS}


def parameters(shape, which):
    return [randn(*shape) if present else None for present in which]


@pytest.mark.parametrize("which", PARAMETERS)
@pytest.mark.parametrize(
    ("shape", "rank"), [((3, 5), 1), ((2, 3, 4), 2), ((7,), 1), ((0, 3), 1)]
)
def test_layer_norm(which, shape, rank):
    operands = [randn(*shape), *parameters(shape[-rank:], which)]
    attributes = {"normalized_rank": rank}
    check_op("layer_norm", operands, attributes, order=ORDER[which], tolerance=1e-7)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("shape", "rank"), [((3, 5), 1), ((2, 3, 4), 2), ((7, 1), 1)])
def test_rms_norm(weighted, shape, rank):
    operands = [randn(*shape), *parameters(shape[-rank:], [weighted])]
    attributes = {"normalized_rank": rank, "eps": 1e-5}
    check_op("rms_norm", operands, attributes, order=3, tolerance=1e-7)


@pytest.mark.parametrize("which", [PARAMETERS[n] for n in (0, 1, 3)])
@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 5), 3), ((3, 4), 1)])
def test_group_norm(which, shape, groups):
    operands = [randn(*shape), *parameters(shape[1:2], which)]
    check_op("group_norm", operands, {"groups": groups}, tolerance=1e-7)


@pytest.mark.parametrize("which", PARAMETERS)
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 1, 3, 4)])
def test_batch_norm_training(which, shape):
    operands = [randn(*shape), *parameters(shape[1:2], which)]
    order = ORDER[which]
    check_op("batch_norm_training", operands, order=order, tolerance=1e-7)


@pytest.mark.parametrize("which", PARAMETERS)
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (0, 3)])
def test_batch_norm(which, shape):
    statistics = randn(shape[1]), randn(shape[1]).abs()
    operands = [randn(*shape), *parameters(shape[1:2], which), *statistics]
    check_op("batch_norm", operands, order=ORDER[which], tolerance=1e-7)
