"""Last dims of few elements, all of which a kernel computes at a time."""

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


# Rows of other lengths, whose elements lie along another dim --------------------------

DTYPES = [
    torch.float32,
    torch.bfloat16,
    torch.float16,
    torch.float64,
    torch.uint8,
    torch.int64,
    torch.bool,
]


def drawn(dtype, *shape):
    """Numbers of any type, which differ from their neighbours."""
    return torch.randint(0, 2 if dtype == torch.bool else 250, shape).to(dtype)


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("channels", range(2, 9))
def test_channels_become_last(bits, dtype, channels):
    def last(x):
        return x.mT.contiguous()

    options = {"vector_bits": bits, "fallback": False}
    compiled = girih.compile(last, dynamic=True, options=options)
    whole = drawn(dtype, channels, 1100)
    for count in (0, 1, 2, 5, 16, 31, 67, 256, 1021):
        for start in (0, 1, 7):
            x = whole[:, start : start + count]
            assert torch.equal(compiled(x), last(x))
            assert compiled(x).stride() == last(x).stride()


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("channels", [2, 3, 7, 8])
def test_channels_were_last(bits, dtype, channels):
    def first(x):
        return x.mT.contiguous(), x.mT.float() * 2

    options = {"vector_bits": bits, "fallback": False}
    compiled = girih.compile(first, dynamic=True, options=options)
    whole = drawn(dtype, 1100, channels)
    for count in (0, 1, 5, 16, 31, 64, 67, 1021):
        for start in (0, 7):
            x = whole[start : start + count]
            assert all(map(torch.equal, compiled(x), first(x)))


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize("shape", [(1, 3, 37, 41), (2, 4, 1, 19), (3, 5, 64, 1)])
def test_images_become_floats(bits, shape):
    def normalized(x):
        y = (x.float() / 255 - 0.45) * 4
        return y.contiguous(memory_format=torch.channels_last)

    x = drawn(torch.uint8, *shape)
    options = {"vector_bits": bits, "fallback": False}
    actual = girih.compile(normalized, options=options)(x)
    torch.testing.assert_close(actual, normalized(x))
    assert actual.stride() == normalized(x).stride()


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize("dtype", DTYPES[:4], ids=str)
@pytest.mark.parametrize("count", [1, 7, 33, 1021])
def test_several_tensors_are_stacked(bits, dtype, count):
    def corners(x, y, width, height):
        return torch.stack([x - width, y - height, x + width, y + height], -1)

    def colours(x, y, width, height):
        return torch.stack([x * 2, y, width.neg()], -1), height + 1

    inputs = drawn(dtype, 4, count).unbind()
    for function in (corners, colours):
        options = {"vector_bits": bits, "fallback": False}
        actual = girih.compile(function, options=options)(*inputs)
        torch.testing.assert_close(actual, function(*inputs), rtol=0, atol=0)


@pytest.mark.parametrize("channels", [2, 3, 5, 7])
def test_rows_that_are_written_into(channels):
    """What lies between the rows of a part of a tensor stays as it was."""

    def write(out, x):
        out[1:-1].copy_(x.mT * 2)
        return out

    x = torch.randn(channels, 35)
    expected = write(torch.zeros(37, channels), x)
    assert torch.equal(girih.compile(write)(torch.zeros(37, channels), x), expected)


@pytest.mark.parametrize("channels", [3, 5])
def test_rows_have_a_number_each(channels):
    def scaled(x, scale):
        return x * scale + 1

    x, scale = torch.randn(67, channels), torch.randn(channels)
    torch.testing.assert_close(girih.compile(scaled)(x, scale), scaled(x, scale))


def test_windows_of_channels():
    def pooled(x):
        windows = x.unflatten(2, (-1, 2)).unflatten(1, (-1, 2))
        return windows.sum((2, 4)).permute(1, 2, 0).contiguous()

    x = torch.randn(3, 34, 66)
    torch.testing.assert_close(girih.compile(pooled)(x), pooled(x))
