"""Derivatives of distances against torch's."""

import torch
from derivatives import check_op

from girih.dialects.attributes import OperandRef

X, Y = OperandRef(0), OperandRef(1)


def call(name, tensors, arguments, result, order=2):
    attributes = {"op": name, "args": arguments, "kwargs": {}}
    check_op("extern", [tensors], attributes, order=order, result_types=[result])


def points(*shape):
    return torch.randn(shape, dtype=torch.float64)


def test_euclidean():
    name = "aten._euclidean_dist.default"
    call(name, [points(3, 4), points(5, 4)], [X, Y], points(3, 5))
    call(name, [points(3, 4), points(5, 4)], [Y, X], points(5, 3))
    call(name, [points(2, 3, 4), points(2, 5, 4)], [X, Y], points(2, 3, 5))
    call(name, [points(1, 1), points(1, 1)], [X, Y], points(1, 1))


def test_points_that_coincide():
    x = torch.eye(3, dtype=torch.float64)
    y = torch.cat([x[:1], 2 * x])
    call("aten._euclidean_dist.default", [x, y], [X, Y], points(3, 4), order=1)


def test_of_the_same_points():
    x = 9 * torch.eye(3, dtype=torch.float64)
    call("aten._euclidean_dist.default", [x], [X, X], points(3, 3), order=1)


def test_between_rows():
    x = points(4, 3)
    call("aten._pdist_forward.default", [x], [X], points(6), order=1)
    call("aten._pdist_forward.default", [x], [X, 3.0], points(6), order=1)
    call("aten._pdist_forward.default", [x], [X, 1], points(6), order=1)
