"""Kernels that write over what they are the last to read: values are eager's."""

import pytest
import torch

import girih

SIZES = [(3, 5, 7), (64, 48, 256), (2048, 64, 256), (257, 33, 1000)]


def pointwise(x, w):
    return torch.exp(-(x @ w).abs()) + 1


def chain(x, w):
    y = torch.sin(x @ w)
    return (torch.cos(y @ w.t()) @ w).relu()


def with_column_sums(x, w):
    y = torch.tanh(x @ w)
    return y, y.sum(0), (y * y).sum(0)


def with_row_sums(x, w):
    y = torch.tanh(x @ w)
    return y, y.amax(1), y.sum(1, keepdim=True)


def with_the_sum(x, w):
    y = (x @ w) * 0.5
    return y, y.sum()


def in_two_walks(x, w):
    y = x @ w
    return torch.softmax(y, 1)


def in_both_walks(x, w):
    y = x @ w
    return y + 1, y - y.mean(1, keepdim=True)


def under_another_shape(x, w):
    y = (x @ w).reshape(1, x.shape[0], 1, w.shape[1]) * 2
    return y, y.sum((0, 1, 2))


def turned(x, w):
    y = x @ w
    return (y.t() + 1).contiguous()


def of_two(x, w):
    y, z = x @ w, (x * 2) @ w
    return y * z + z, (y - z).sum(0)


def read_by_a_view(x, w):
    y = x @ w
    z = y[:, 1:].exp()
    return y.sin(), z


FUNCTIONS = [
    chain,
    in_both_walks,
    in_two_walks,
    of_two,
    pointwise,
    read_by_a_view,
    turned,
    under_another_shape,
    with_column_sums,
    with_row_sums,
    with_the_sum,
]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values(function, sizes):
    m, k, n = sizes
    x = torch.randn(m, k, dtype=torch.float64)
    w = torch.randn(k, n, dtype=torch.float64)
    compiled = girih.compile(function, fullgraph=True, options={"fallback": False})
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, w), function(x, w))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_twice(function):
    """Of a graph that is retained: nothing that it keeps is written over."""
    x = torch.randn(64, 48, dtype=torch.float64, requires_grad=True)
    w = torch.randn(48, 256, dtype=torch.float64, requires_grad=True)
    compiled = girih.compile(function, fullgraph=True, options={"fallback": False})
    expected, actual = _scalar(function(x, w)), _scalar(compiled(x, w))
    wanted = torch.autograd.grad(expected, (x, w))
    for is_last in (False, False, True):
        found = torch.autograd.grad(actual, (x, w), retain_graph=not is_last)
        torch.testing.assert_close(found, wanted)


def _scalar(results):
    results = results if isinstance(results, tuple) else (results,)
    return sum((result * result).sum() for result in results)
