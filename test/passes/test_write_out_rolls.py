"""Rolled tensors against eager: sizes, dims, shifts, layouts, dtypes, gradients."""

import itertools
import math

import pytest
import torch

import girih


def same(function, *inputs, **options):
    """Compares results with eager's; gives the compiled function."""
    compiled = girih.compile(function, options={"fallback": False}, **options)
    with torch.no_grad():
        torch.testing.assert_close(
            compiled(*inputs), function(*inputs), rtol=0, atol=0, equal_nan=True
        )
    return compiled


SHAPES = [(0,), (1,), (7,), (0, 3), (3, 0), (1, 5), (6, 1), (4, 37), (2, 13, 3, 5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_each_dim(shape):
    x = torch.randn(shape)
    for dim, shift in itertools.product(range(len(shape)), (-1, 0, 1, 2, 40)):
        same(lambda x, shift=shift, dim=dim: x.roll(shift, dim), x)
        same(lambda x, shift=shift, dim=dim: x.abs().roll(shift, dim) + x, x)


def test_several_dims():
    x = torch.randn(3, 14, 21, 5)
    same(lambda x: x.roll((-3, 4), (1, 2)), x)
    same(lambda x: x.roll((1, 2, 3, 4), (3, 2, 1, 0)) * 2, x)
    same(lambda x: x.roll((5, 2), (1, 1)), x)
    same(lambda x: x.roll(11), x)


def test_windows():
    def cut(x):
        y = x.roll((-3, -3), (1, 2)).view(2, 2, 7, 3, 7, 8)
        return y.transpose(2, 3).reshape(-1, 49, 8)

    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.int8, torch.bool):
        same(cut, (torch.randn(2, 14, 21, 8) * 3).to(dtype))


def test_layouts():
    x = torch.randn(4, 8, 6, 10)
    for each in (
        x.to(memory_format=torch.channels_last),
        x.permute(3, 1, 0, 2),
        x[:, ::2, 1:, ::3],
        x[:1].expand(4, 8, 6, 10),
    ):
        for dim in range(4):
            same(lambda x, dim=dim: x.roll(1, dim) * 2, each)


def test_rows_of_rolled_tensors():
    x = torch.randn(9, 65)
    x[1, 3] = math.nan
    same(lambda x: x.roll(1, 0).amax(-1), x)
    same(lambda x: x.roll(1, 1).amax(0), x)
    same(lambda x: x.roll(1, 1).cummax(1).values, x.nan_to_num())


def test_concats_that_are_no_rolls():
    x, y = torch.randn(6, 5), torch.randn(6, 5)
    same(lambda x: torch.cat([x[4:], x[:4]]), x)  # one that is
    same(lambda x: torch.cat([x[4:], x[:3]]), x)
    same(lambda x: torch.cat([x[3:], x[1:4]]), x)
    same(lambda x: torch.cat([x[:2], x[2:]]), x)
    same(lambda x: torch.cat([x[3:, 1:], x[:3, :4]]), x)
    same(lambda x: torch.cat([x[::2], x[1::2]]), x)
    same(lambda x: torch.cat([x[4:, :3], x[:4, :3]]), x)
    same(lambda x, y: torch.cat([x[4:], y[:4]]), x, y)
    same(lambda x: torch.cat([x[4:], x[:4], x[:1]]), x)


def test_symbolic_sizes():
    compiled = same(lambda x: x.roll(2, 0) + 1, torch.randn(5, 4), dynamic=True)
    for size in (2, 3, 31):
        x = torch.randn(size, 4)
        assert torch.equal(compiled(x), x.roll(2, 0) + 1)


def test_gradients():
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    compiled = girih.compile(lambda x: (x.roll((1, 2), (0, 2)) * x).tanh())
    assert torch.autograd.gradcheck(compiled, x)
    assert torch.autograd.gradgradcheck(compiled, x)


def test_one_load():
    seen = []
    options = {"passes": {"before:tile": lambda module: seen.append(str(module))}}
    compiled = girih.compile(lambda x: x.roll((3, 4), (1, 2)), options=options)
    compiled(torch.randn(2, 8, 9, 16))
    assert seen[-1].count("tile.read") == 1 and "graph.where" not in seen[-1]
    assert girih.report(compiled).launches == 1


def test_gradients_are_rolls():
    seen = []
    options = {"passes": {"before:tile": lambda module: seen.append(str(module))}}
    compiled = girih.compile(lambda x: x.roll((3, 4), (1, 2)) * 2, options=options)
    x = torch.randn(2, 8, 9, 16, requires_grad=True)
    g = torch.randn(2, 8, 9, 16)
    compiled(x).backward(g)
    assert torch.equal(x.grad, (g * 2).roll((-3, -4), (1, 2)))
    assert seen[-1].count("tile.read") == 1 and "graph.pad" not in seen[-1]
