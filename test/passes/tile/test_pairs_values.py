"""Tensors that a kernel stores alternately, compiled, against eager PyTorch."""

from __future__ import annotations

import pytest
import torch

import girih

COUNTS = (0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100)
"""Of pairs in a row: fewer than a vector has lanes, as many, and rests."""


def rotated(x, cosine, sine):
    """Pairs of a last dim, turned by angles."""
    real, imaginary = x.to(cosine.dtype).unflatten(-1, (-1, 2)).unbind(-1)
    parts = [real * cosine - imaginary * sine, real * sine + imaginary * cosine]
    return torch.stack(parts, -1).flatten(-2).to(x.dtype)


def taken_apart(x):
    """The same pairs the other way round, with another formula for each."""
    first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([second + 1, first * 2], -1)


def masks(x):
    """Pairs of booleans, which lie in bytes."""
    first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([first > second, first <= 0], -1)


def transposed(x):
    """Pairs that the program reads down the columns."""
    first, second = x.mT.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([first - second, first + second], -1)


def own_indices(x):
    """Pairs whose formulas know their places."""
    places = torch.arange(2).expand(*x.shape[:-1], x.shape[-1] // 2, 2)
    return torch.where(places == 0, x.unflatten(-1, (-1, 2)), places + 0.5)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_rotation(count, dtype):
    x = torch.randn(3, 5, 2 * count).to(dtype)
    cosine, sine = torch.randn(2, 5, count, dtype=torch.float64).to(
        torch.float64 if dtype == torch.float64 else torch.float32
    )
    actual = girih.compile(rotated)(x, cosine, sine)
    assert torch.equal(actual, rotated(x, cosine, sine))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("function", [taken_apart, masks, own_indices])
def test_other_formulas(function, count):
    x = torch.randn(3, 2 * count)
    assert torch.equal(girih.compile(function)(x), function(x))


@pytest.mark.parametrize("rows", [2, 8, 34])
def test_columns(rows):
    x = torch.randn(rows, 9)
    assert torch.equal(girih.compile(transposed)(x), transposed(x))


def test_symbolic_sizes():
    compiled = girih.compile(taken_apart, dynamic=True)
    for count in (4, 7, 33, 64):
        x = torch.randn(3, 2 * count)
        assert torch.equal(compiled(x), taken_apart(x))


def test_operand_is_overwritten():
    def step(x):
        y = x.sin()
        first, second = y.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([second, first], -1)

    x = torch.randn(64, 64)
    torch.testing.assert_close(girih.compile(step)(x), step(x))
