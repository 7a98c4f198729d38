"""Derivatives of views and rearrangements against torch's."""

import pytest
import torch
from derivatives import check_op


def random(*shape):
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize(
    ("source", "target"),
    [((6,), (2, 3)), ((2, 3), (6,)), ((1, 1), ()), ((), (1,)), ((0, 3), (3, 0))],
)
def test_reshape(source, target):
    check_op("reshape", [random(*source)], result_types=[random(*target)])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_permute(order):
    check_op("permute", [random(2, 3, 5)], {"permutation": order})


@pytest.mark.parametrize(
    ("source", "target"),
    [((3, 1), (3, 4)), ((1, 3), (2, 5, 3)), ((), (2, 3)), ((3,), (0, 3)), ((3,), (3,))],
)
def test_broadcast_to(source, target):
    check_op("broadcast_to", [random(*source)], result_types=[random(*target)])


@pytest.mark.parametrize(
    ("size", "start", "step", "count"),
    [
        (7, 0, 1, 7),
        (7, 2, 1, 3),
        (7, 2, 1, 0),
        (7, 7, 1, 0),
        (7, 0, 3, 3),
        (7, 1, 2, 3),
        (8, 1, 3, 2),
        (8, 5, 5, 1),
        (8, 0, 2, 0),
        (0, 0, 1, 0),
        (11, 1, 4, 3),
    ],
)
def test_slice(size, start, step, count):
    attributes = {"starts": (0, start), "steps": (1, step)}
    check_op("slice", [random(3, size)], attributes, result_types=[random(3, count)])


def test_slice_along_several_dims():
    attributes = {"starts": (1, 0, 2), "steps": (2, 3, 1)}
    check_op("slice", [random(5, 7, 4)], attributes, result_types=[random(2, 3, 2)])


@pytest.mark.parametrize("sizes", [(2, 3), (1, 0, 4), (5,)])
@pytest.mark.parametrize("dim", [0, 1])
def test_concat(sizes, dim):
    parts = [random(*((size, 2) if dim == 0 else (2, size))) for size in sizes]
    check_op("concat", [parts], {"dim": dim})


@pytest.mark.parametrize(
    ("low", "high"), [((0, 0), (0, 0)), ((1, 0), (0, 2)), ((3, 1), (1, 2))]
)
def test_pad(low, high):
    check_op("pad", [random(2, 3)], {"low": low, "high": high, "value": 1.5})


@pytest.mark.parametrize("step", [1, 2, 4])
@pytest.mark.parametrize("dim", [0, 1])
def test_window(dim, step):
    x = random(*((7, 2) if dim == 0 else (2, 7)))
    windows = x.unfold(dim, 3, step).contiguous()
    check_op("window", [x], {"dim": dim, "step": step}, result_types=[windows])


@pytest.mark.parametrize("dims", [(), (0,), (0, 2)])
def test_flip(dims):
    check_op("flip", [random(2, 3, 4)], {"dims": dims})


@pytest.mark.parametrize(
    ("part", "starts", "steps"),
    [((1, 4), (2, 0), (1, 1)), ((2, 3), (1, 1), (2, 1)), ((5, 4), (0, 0), (1, 1))],
)
def test_insert(part, starts, steps):
    attributes = {"starts": starts, "steps": steps}
    check_op("insert", [random(5, 4), random(*part)], attributes)
