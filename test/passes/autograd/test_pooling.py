"""Derivatives of pooling against torch's."""

import pytest
import torch
from derivatives import check_op

import girih


def randn(*shape):
    return torch.randn(shape, dtype=torch.float64)


def window(kernel, stride, padding, dilation=None, **modes):
    lists = {"kernel": kernel, "stride": stride, "padding": padding}
    return lists | ({} if dilation is None else {"dilation": dilation}) | modes


MAX = {
    "tiles": ((2, 3, 4, 6), window((2, 2), (2, 2), (0, 0), (1, 1))),
    "rest": ((2, 5, 7), window((2, 3), (2, 3), (0, 0), (1, 1))),
    "beyond": ((1, 2, 5, 5), window((2, 2), (2, 2), (0, 0), (1, 1), ceil_mode=True)),
    "overlap": ((1, 2, 7, 6), window((3, 2), (2, 1), (1, 0), (1, 2))),
    "volume": ((1, 2, 4, 3, 4), window((2, 1, 2), (2, 1, 2), (0, 0, 0), (1, 1, 1))),
    "volumes": ((1, 1, 4, 4, 5), window((2, 2, 2), (1, 2, 1), (1, 0, 1), (1, 1, 1))),
}


@pytest.mark.parametrize(("shape", "attributes"), MAX.values(), ids=MAX)
def test_max_pool(shape, attributes):
    check_op("max_pool", [randn(*shape)], attributes)


def test_ties_go_to_one():
    x = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    check_op("max_pool", [x], MAX["tiles"][1])
    check_op("max_pool", [x], MAX["overlap"][1] | {"dilation": (1, 1)})


AVG = {
    "tiles": ((2, 3, 4, 6), window((2, 2), (2, 2), (0, 0))),
    "rest": ((2, 5, 7), window((2, 3), (2, 3), (0, 0), divisor=5)),
    "beyond": ((1, 2, 5, 5), window((2, 2), (2, 2), (0, 0), ceil_mode=True)),
    "overlap": ((1, 2, 7, 6), window((3, 2), (2, 1), (1, 0))),
    "inside": (
        (1, 2, 7, 6),
        window((3, 2), (2, 1), (1, 0), count_include_pad=False),
    ),
    "divisor": ((1, 2, 7, 6), window((3, 2), (2, 1), (1, 1), divisor=3)),
    "volumes": ((1, 1, 4, 4, 5), window((2, 2, 2), (1, 2, 1), (1, 0, 1))),
    "moving, padded": ((1, 2, 5, 6), window((3, 2), (1, 1), (1, 1))),
    "moving, inside": (
        (1, 2, 5, 6),
        window((3, 2), (1, 1), (1, 1), count_include_pad=False),
    ),
    "moving, divisor": (
        (1, 2, 5, 6),
        window((3, 2), (1, 1), (1, 1), count_include_pad=False, divisor=5),
    ),
    "moving volumes": ((1, 1, 3, 4, 5), window((2, 1, 3), (1, 1, 1), (1, 0, 1))),
}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dynamic", [False, True])
def test_moving_averages_call_no_library(dims, dynamic):
    pool = getattr(torch.nn.functional, f"avg_pool{dims}d")

    def function(x):
        return pool(x.sin(), 3, 1, 1)

    compiled = girih.compile(function, dynamic=dynamic, options={"fallback": False})
    for size in (8, 9):
        x = randn(2, 3, *[size] * dims).requires_grad_()
        seed = torch.randn_like(function(x))
        expected = torch.autograd.grad(function(x), x, seed)
        torch.testing.assert_close(torch.autograd.grad(compiled(x), x, seed), expected)
    externs = [graph.externs for graph in girih.report(compiled).graphs]
    assert not any(externs), externs


@pytest.mark.parametrize(("shape", "attributes"), AVG.values(), ids=AVG)
def test_avg_pool(shape, attributes):
    check_op("avg_pool", [randn(*shape)], attributes)


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((2, 3, 4, 6), (1, 1)),
        ((2, 3, 4, 6), (2, 3)),
        ((3, 5, 7), (2, 3)),
        ((2, 3, 4, 6), (3, 1)),
        ((1, 2, 4, 3, 5), (2, 2, 2)),
    ],
)
def test_adaptive_avg_pool(shape, sizes):
    check_op("adaptive_avg_pool", [randn(*shape)], {"output_size": sizes})
