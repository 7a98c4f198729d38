"""Convolutions of images of few channels, which are kernels: colors, spectra."""

import copy

import pytest
import torch
from torch import nn

import girih

# Channels, results, window, stride, padding, images, their height, bias.
CASES = {
    "colors": (3, 32, 3, 2, 1, 1, 33, True),
    "no_bias": (3, 16, 3, 2, 1, 2, 32, False),
    "primes": (3, 37, 3, 1, 1, 3, 11, True),
    "padded_twice": (3, 24, 3, 1, 2, 2, 9, True),
    "gray": (1, 20, 5, 1, 2, 1, 12, True),
    "patches": (3, 64, 4, 4, 0, 2, 32, True),
    "uneven": (2, 17, (2, 3), (1, 2), (1, 0), 2, 13, True),
    "four": (4, 9, 2, 2, 0, 1, 18, True),
    "as_high_as_a_window": (3, 16, 3, 1, 0, 2, 3, True),
}


def network(case):
    channels, results, window, stride, padding, *_, bias = CASES[case]
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(channels, results, window, stride, padding, bias=bias),
        nn.BatchNorm2d(results),
        nn.SiLU(),
        nn.Conv2d(results, results, 3, padding=1, groups=results),
        nn.Conv2d(results, 8, 1),
    )


def images(case, layout):
    channels, *_, count, height, _ = CASES[case]
    x = torch.randn(count, channels, height, height + 7)
    return x.contiguous(memory_format=layout)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("freezing", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_network(case, freezing, layout):
    model = network(case).eval().to(memory_format=layout)
    x = images(case, layout)
    options = {"fallback": False, "freezing": freezing}
    compiled = girih.compile(model, fullgraph=True, options=options)
    with torch.no_grad():
        compiled(x)
        actual, eager = compiled(x), model(x)
        exact = copy.deepcopy(model).double()(x.double())
    assert actual.stride() == eager.stride()
    error, usual = ((y - exact).abs().max() for y in (actual, eager))
    assert error <= 4 * usual + 1e-6


def test_borders_do_not_meet_infinities():
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1)).eval()
    x = torch.randn(2, 3, 9, 10)
    x[0, :, -1], x[1, :, 2, 2] = torch.inf, torch.nan
    compiled = girih.compile(model, options={"freezing": True})
    with torch.no_grad():
        compiled(x)
        torch.testing.assert_close(compiled(x), model(x), equal_nan=True)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_training(layout):
    model = network("colors").to(memory_format=layout)
    twin = copy.deepcopy(model)
    compiled = girih.compile(twin, options={"fallback": False})
    x = images("colors", layout).requires_grad_()
    y = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    model(x).square().mean().backward()
    compiled(y).square().mean().backward()
    torch.testing.assert_close(y.grad, x.grad, rtol=1e-3, atol=1e-5)
    for one, two in zip(twin.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-3, atol=1e-4)


def test_one_compilation_serves_other_weights():
    model = network("colors").eval().to(memory_format=torch.channels_last)
    compiled = girih.compile(model)
    x = images("colors", torch.channels_last)
    with torch.no_grad():
        compiled(x)
        model[0].weight.mul_(2)
        torch.testing.assert_close(compiled(x), model(x))
