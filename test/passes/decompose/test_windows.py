"""``im2col`` as views of windows, against ATen's."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from extent import spread

import girih

SHAPES = ((2, 3, 8, 9), (1, 1, 7, 7), (3, 5, 11), (0, 2, 6, 6))
NUMBERS = tuple(itertools.product((2, (3, 2)), (1, 2), (0, (1, 2)), (1, (2, 3))))


def compiled(function, *args, dynamic=False):
    made = girih.compile(function, dynamic=dynamic, options={"fallback": False})
    return made(*args), girih.report(made).graphs[0].externs


@pytest.mark.parametrize(
    ("shape", "numbers"), spread(SHAPES, NUMBERS, every=2), ids=str
)
def test_unfold(shape, numbers):
    kernel, dilation, padding, stride = numbers

    def function(x):
        return F.unfold(x * 2, kernel, dilation, padding, stride) + 1

    for x in (torch.randn(shape), torch.randn(shape).transpose(-1, -2).contiguous().mT):
        try:
            expected = function(x)
        except RuntimeError as error:  # the windows are larger than the image
            with pytest.raises(RuntimeError) as raised:
                compiled(function, x)
            assert str(raised.value).splitlines()[0] == str(error).splitlines()[0]
            continue
        actual, externs = compiled(function, x)
        assert torch.equal(actual, expected) and actual.stride() == expected.stride()
        assert externs == 0


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.bfloat16, torch.float16, torch.complex64, torch.bool]
)
def test_dtypes(dtype):
    x = torch.randn(2, 3, 6, 7).to(dtype)
    actual, _ = compiled(lambda x: F.unfold(x, 3, padding=1), x)
    assert torch.equal(actual, F.unfold(x, 3, padding=1))


def test_channels_last():
    x = torch.randn(2, 3, 6, 7).to(memory_format=torch.channels_last)
    actual, _ = compiled(lambda x: F.unfold(x, 3), x)
    expected = F.unfold(x, 3)
    assert torch.equal(actual, expected) and actual.stride() == expected.stride()


def test_sizes_that_are_not_known():
    made = girih.compile(lambda x: F.unfold(x, 3, padding=1) * 2, dynamic=True)
    for shape in ((2, 3, 6, 7), (5, 3, 6, 7), (2, 4, 9, 12)):
        x = torch.randn(shape)
        assert torch.equal(made(x), F.unfold(x, 3, padding=1) * 2)


def test_derivatives():
    made = girih.compile(lambda x: F.unfold(x.sin(), 3, padding=1, stride=2).exp())
    x = torch.randn(2, 2, 5, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(made, x)
    assert torch.autograd.gradgradcheck(made, x)
