"""Writes through windows, and to what a call gives detached from its own memory."""

import pytest
import torch
from extent import spread

import girih

SHAPES = ((4, 6), (5, 8), (3, 5), (4, 7))


def outcome(function, shape):
    torch.manual_seed(0)
    x, w = (torch.randn(size, dtype=torch.float64) for size in (shape, 3))
    x.requires_grad_(), w.requires_grad_()
    y = function(x, w)
    y.square().sum().backward()
    return y.detach(), x.grad, w.grad


WINDOWS = [(-1, 2, 2), (0, 2, 3), (1, 3, 3), (0, 1, 4), (-1, 2, 5)]


@pytest.mark.parametrize(("window", "dynamic"), spread(WINDOWS, [None, True], every=2))
def test_windows_that_share_nothing(window, dynamic):
    dim, size, step = window

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


def through_windows(x, w):
    x = x * 1
    y = x.unfold(0, 3, 1)
    y[0] = 5 * w[0]
    y[:, 0, 1] += w[1]
    return x, y.sum()


def between_windows(x, w):
    x = x * 1
    y = x.unfold(1, 3, 1)
    y[:, :, 1] = y[:, :, 1].clone() * w[2]
    y[..., 0].add_(w[0])
    return y


def all_of_the_windows(x, w):
    x = x * w[0]
    x.unfold(0, 2, 1)[:, 1:].zero_()
    return x * x


def expanded(x, w):
    y = x.sum(0, keepdim=True).expand(4, -1)
    y[0] -= w[0]
    y[2, 1:].copy_(w[0].expand(y.shape[1] - 1))
    return y, y.sum()


def strided_windows(x, w):
    y = (x * w[0]).reshape(-1)
    z = y.as_strided((y.shape[0] - 2, 3), (1, 1))
    z[:, 0] = z[:, 2] * 2
    return y, z


def strided_diagonal(x, w):
    y = x * 1
    y.as_strided((3,), (y.shape[1] + 1,)).add_(w)
    return y


def transposed(x, w):
    y = (x * 2).t()
    z = y.unfold(1, 2, 1)
    z[..., 0] += w[0]
    return y, z


PROGRAMS = (
    *(through_windows, between_windows, all_of_the_windows, expanded),
    *(strided_windows, strided_diagonal, transposed),
)


@pytest.mark.parametrize(
    ("program", "dynamic"), spread(PROGRAMS, [None, True], every=2)
)
def test_parts_of_windows_that_overlap(program, dynamic):
    def function(x, w):
        results = program(x, w)
        results = results if isinstance(results, tuple) else (results,)
        return torch.cat([result.reshape(-1) for result in results])

    compiled = girih.compile(function, dynamic=dynamic, fullgraph=True)
    for shape in SHAPES:
        torch.testing.assert_close(outcome(compiled, shape), outcome(function, shape))


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("made", [lambda x: x, torch.clone, torch.t])
def test_windows_of_arguments(made, dynamic):
    def function(x):
        y = made(x)
        y.unfold(0, 2, 1).zero_()
        y.unfold(1, 3, 1)[:, 0] = 3
        return y

    compiled = girih.compile(function, dynamic=dynamic, fullgraph=True)
    for shape in (*SHAPES, (3, 3), (11, 13)):
        x = torch.arange(shape[0] * shape[1]).view(shape)
        mine = x.clone()
        assert compiled(mine).equal(function(x))
        assert mine.equal(x)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.int64, torch.half])
def test_bits_are_written(dtype, dynamic):
    def function(x):
        y = x * 1
        view = y.view(dtype)
        view[..., ::2].mul_(2)
        view[0] = 0
        return y, view.sum(0, dtype=torch.float64)

    compiled = girih.compile(function, dynamic=dynamic, fullgraph=True)
    for shape in ((4, 6), (4, 10), (1, 2), (7, 22)):
        x = torch.arange(1, shape[0] * shape[1] + 1, dtype=torch.float32).view(shape)
        torch.testing.assert_close(compiled(x), function(x), equal_nan=True)


def test_bits_that_are_written_keep_the_history():
    def function(x):
        y = x * 3
        y.view(torch.int32).bitwise_and_(0x7FFFFFFF)
        return y * 2

    found = []
    for f in (girih.compile(function, fullgraph=True), function):
        x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
        y = f(x)
        y.sum().backward()
        found.append((y.detach(), x.grad))
    torch.testing.assert_close(*found)
    assert found[0][0].tolist() == [6, 12, 18]


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
