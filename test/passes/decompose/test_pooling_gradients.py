"""Gradients of pooling on an emulated GPU, against eager in float64."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from emulated_device import emulated_device

import girih

# Sizes, strides and paddings of windows, and whether those at the end may be cut.
WINDOWS = [
    ((2, 2), (2, 2), (0, 0), False),
    ((3, 3), (2, 2), (1, 1), False),
    ((3, 3), (1, 1), (1, 1), False),
    ((3, 2), (2, 1), (1, 0), True),
    ((2, 3), (3, 2), (0, 1), False),
    ((3, 3), (3, 3), (1, 1), True),
    ((1, 1), (2, 2), (0, 0), False),
    ((13, 11), (1, 1), (0, 0), False),
]
SHAPES = [(2, 3, 13, 11), (1, 1, 13, 11), (3, 14, 29), (0, 2, 13, 11)]


def checked(pool, x):
    """Compares the gradient; gives the kernels that compute it."""
    with emulated_device() as device:
        compiled = girih.compile(pool, options={"fallback": False})
        y = compiled(x)
        weights, before = torch.randn(y.shape), len(device.launched)
        (actual,) = torch.autograd.grad(y, x, weights.to(y.dtype))
    exact = x.detach().double().requires_grad_()
    (expected,) = torch.autograd.grad(pool(exact), exact, weights.double())
    narrow = x.dtype != torch.float32
    close = {"rtol": 2e-2, "atol": 4e-2} if narrow else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(actual.double(), expected, **close)
    assert actual.dtype == x.dtype
    return device.launched[before:]


def image(shape, dtype=torch.float32):
    """Few numbers, so that windows have several maxima."""
    return torch.randint(0, 5, shape).to(dtype).requires_grad_()


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_maxima(window, shape):
    kernel, stride, padding, cuts = window
    f = lambda x: F.max_pool2d(x, kernel, stride, padding, 1, cuts).exp()  # noqa: E731
    launched = checked(f, image(shape))
    assert len(launched) == (0 not in shape)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_means(window):
    kernel, stride, padding, _ = window
    f = lambda x: F.avg_pool2d(x.relu(), kernel, stride, padding)  # noqa: E731
    checked(f, image((2, 3, 13, 11)))


def test_means_of_fewer_elements():
    x = image((2, 3, 13, 11))
    checked(lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5), x)
    checked(lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), x)
    checked(lambda x: F.avg_pool2d(x, 3, 2, 0, ceil_mode=True), x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_elements(dtype):
    for size, stride in itertools.product((2, 3), (1, 2)):
        f = lambda x, k=size, s=stride: F.max_pool2d(x.relu(), k, s, 1)  # noqa: E731
        checked(f, image((2, 3, 12, 9), dtype))


def test_rows_and_gaps():
    checked(lambda x: F.max_pool1d(x, 3, 2, 1) * 2, image((2, 3, 21)))
    # A library's: windows with gaps.
    checked(lambda x: F.max_pool2d(x, 2, 1, 0, 2) * 2, image((2, 3, 9, 9)))


def test_channels_last():
    x = image((2, 3, 12, 9)).detach().to(memory_format=torch.channels_last)
    x.requires_grad_()
    checked(lambda x: F.max_pool2d(x, 3, 2, 1) + 1, x)
    checked(lambda x: F.avg_pool2d(x, 3, 2, 1) + 1, x)
