"""Convolutions of each channel by itself, which are kernels with channels last."""

import copy

import pytest
import torch
from torch import nn

import girih

CASES = {
    "plain": (1, 16, 9, 3, 1, 1),
    "primes": (3, 37, 11, 3, 1, 1),
    "strided": (2, 72, 15, 5, 2, 2),
    "unpadded": (2, 24, 12, 3, 1, 0),
    "wide": (1, 96, 10, 7, 1, 3),
    "padded_twice": (1, 20, 6, 3, 1, 2),
    "a_row": (2, 32, 3, 3, 1, 0),
    "few_channels": (2, 8, 9, 3, 2, 1),
}


@pytest.mark.parametrize("freezing", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_network(case, freezing):
    count, channels, size, window, stride, padding = CASES[case]
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(
            channels, channels, window, stride, padding, groups=channels, bias=False
        ),
        nn.BatchNorm2d(channels),
        nn.SiLU(),
        nn.Conv2d(channels, channels, 3, padding=1, groups=channels),
    )
    model = model.eval().to(memory_format=torch.channels_last)
    x = torch.randn(count, channels, size, size + 2)
    x = x.to(memory_format=torch.channels_last)
    options = {"fallback": False, "freezing": freezing}
    compiled = girih.compile(model, fullgraph=True, options=options)
    with torch.no_grad():
        actual, eager = compiled(x), model(x)
        exact = copy.deepcopy(model).double()(x.double())
    assert actual.stride() == eager.stride()
    error, usual = ((y - exact).abs().max() for y in (actual, eager))
    assert error <= 4 * usual + 1e-6
    assert girih.report(compiled).graphs[0].externs == 0


@pytest.mark.parametrize("freezing", [False, True])
@pytest.mark.parametrize(
    ("times", "window", "stride", "dilation"),
    [(2, 7, 2, 1), (3, 3, 1, 1), (1, 3, 1, 2), (2, 3, 1, (3, 2)), (1, 5, 2, 2)],
)
def test_several_results_and_dilated_windows(times, window, stride, dilation, freezing):
    torch.manual_seed(0)
    padding = window // 2 * (dilation if isinstance(dilation, int) else 1)
    model = nn.Sequential(
        nn.Conv2d(12, 12, 1),
        nn.ReLU(),
        nn.Conv2d(12, 12 * times, window, stride, padding, dilation, groups=12),
        nn.BatchNorm2d(12 * times),
        nn.ReLU(),
    ).eval()
    x = torch.randn(2, 12, 15, 13).to(memory_format=torch.channels_last)
    options = {"fallback": False, "freezing": freezing}
    compiled = girih.compile(model, fullgraph=True, options=options)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))
    assert girih.report(compiled).graphs[0].externs == 0


def test_borders_do_not_meet_infinities():
    """What a window reads beside the image is zero, whatever lies there in memory."""
    model = nn.Conv2d(16, 16, 3, padding=1, groups=16)
    model = model.to(memory_format=torch.channels_last)
    x = torch.randn(2, 16, 6, 6).to(memory_format=torch.channels_last)
    x[0, :, -1], x[1, :, 2, 2] = torch.inf, torch.nan
    with torch.no_grad():
        actual, eager = girih.compile(model)(x), model(x)
    torch.testing.assert_close(actual, eager, equal_nan=True)


def test_training():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.ReLU())
    model = model.to(memory_format=torch.channels_last)
    twin = copy.deepcopy(model)
    compiled = girih.compile(twin, options={"fallback": False})
    x = torch.randn(2, 16, 7, 7).to(memory_format=torch.channels_last)
    pairs = []
    for function, module in ((model, model), (compiled, twin)):
        own = x.clone().requires_grad_()
        function(own).square().sum().backward()
        pairs.append([own.grad, *(p.grad for p in module.parameters())])
    for expected, actual in zip(*pairs, strict=True):
        torch.testing.assert_close(actual, expected)
