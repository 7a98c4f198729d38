"""Writes through windows, and to what a call gives detached from its own memory."""

import pytest
import torch

import girih

SHAPES = ((4, 6), (5, 8), (3, 5), (4, 7))


def outcome(function, shape):
    torch.manual_seed(0)
    x, w = (torch.randn(size, dtype=torch.float64) for size in (shape, 3))
    x.requires_grad_(), w.requires_grad_()
    y = function(x, w)
    y.square().sum().backward()
    return y.detach(), x.grad, w.grad


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    ("dim", "size", "step"), [(-1, 2, 2), (0, 2, 3), (1, 3, 3), (0, 1, 4), (-1, 2, 5)]
)
def test_windows_that_share_nothing(dim, size, step, dynamic):
    def function(x, w):
        x = x * 1
        y = x.unfold(dim, size, step)
        y.mul_(2)
        y[0] += 1
        y.add_(w.sum())
        return x

    compiled = girih.compile(function, dynamic=dynamic, fullgraph=True)
    for shape in SHAPES:
        torch.testing.assert_close(outcome(compiled, shape), outcome(function, shape))


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
def test_windows_that_overlap_are_written_as_eager_does():
    def function(x):
        x = x * 1
        x.unfold(0, 3, 1).mul_(2)
        return x

    x = torch.ones(5)
    torch.testing.assert_close(girih.compile(function)(x), function(x))


@pytest.mark.parametrize(
    "made", [torch.zeros_like, torch.ones_like, torch.empty_like, torch.Tensor.detach]
)
def test_what_is_made_like_a_tensor_with_a_history_takes_one(made):
    def function(x, w):
        y = made(x)
        y[:, :1] = 0 * w[0]
        y[:, 1:] = x[:, :-1] * 3
        first, all_of_it = y[:, 0], y.detach()
        y.mul_(w.sum())
        return y + first.sum() + all_of_it

    fullgraph = made is not torch.Tensor.detach
    compiled = girih.compile(function, fullgraph=fullgraph)
    for shape in SHAPES:
        torch.testing.assert_close(outcome(compiled, shape), outcome(function, shape))
