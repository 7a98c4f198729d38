"""Strided, misaligned, overlapping and written tensors on a GPU."""

import pytest
import torch
from gpu_device import FLOATS, assert_as_good_as_eager, compiled, normal
from tensors import LAYOUTS
from torch.nn import functional as F

import girih


def program(x, y):
    return F.gelu(x) * y, (x + y).sum(-1), F.softmax(x, 0)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
def test_inputs(layout, dtype):
    x = layout(normal(65, 130, dtype=dtype))
    inputs = (x, normal(65, 130, dtype=dtype))
    assert_as_good_as_eager(program, inputs, compiled(program)(*inputs))


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 8])
def test_misaligned_inputs(dtype, start):
    """One compiled function gets aligned and misaligned tensors in turn."""
    run = compiled(program)
    for offset in (0, start, 0, 1):
        storage = normal(64 * 128 + 16, dtype=dtype)
        x = storage[offset : offset + 64 * 128].view(64, 128)
        inputs = (x, normal(64, 128, dtype=dtype))
        assert_as_good_as_eager(program, inputs, run(*inputs))


def test_misaligned_input_that_is_written():
    def write(x):
        return x.mul_(2).add_(1)

    storage = normal(1030)
    expected = storage.clone()
    write(expected[1:1025])
    run = girih.compile(write, dynamic=False)
    run(normal(1024))
    with pytest.warns(girih.FallbackWarning, match="alignment"):
        run(storage[1:1025])
    torch.testing.assert_close(storage, expected)


def test_written_inputs():
    def write(x, y):
        x.add_(y)
        y[:, ::2] = 0
        x[0].copy_(y[1])
        return x.sum(1)

    mine = [normal(20, 30), normal(20, 30)]
    theirs = [x.clone() for x in mine]
    run = compiled(write)
    for _ in range(3):
        torch.testing.assert_close(run(*mine), write(*theirs))
        for one, other in zip(mine, theirs, strict=True):
            torch.testing.assert_close(one, other)


def test_arguments_that_share_memory():
    def write(x, y):
        x.mul_(2)
        return x + y

    base, other = normal(100), normal(100)
    run = girih.compile(write, dynamic=False)
    run(other.clone(), other)
    expected = base.clone()
    result = write(expected[:50], expected[25:75])
    with pytest.warns(girih.FallbackWarning, match="overlap"):
        torch.testing.assert_close(run(base[:50], base[25:75]), result)
    torch.testing.assert_close(base, expected)


def test_results_that_are_views():
    def views(x):
        y = x * 2
        return x.t(), y[1:], y.view(-1), x.view(-1)[3:]

    x = normal(16, 32)
    for mine, theirs in zip(compiled(views)(x), views(x), strict=True):
        assert mine.stride() == theirs.stride()
        torch.testing.assert_close(mine, theirs)
    assert compiled(views)(x)[0].data_ptr() == x.data_ptr()


def test_channels_last():
    def convolve(x, weight):
        return F.relu(F.conv2d(x, weight, padding=1)) + 1

    weight = normal(8, 4, 3, 3)
    for layout in (torch.contiguous_format, torch.channels_last):
        x = normal(2, 4, 10, 12).contiguous(memory_format=layout)
        inputs = (x, weight.contiguous(memory_format=layout))
        with torch.no_grad():
            actual = compiled(convolve)(*inputs)
            assert_as_good_as_eager(convolve, inputs, actual)
