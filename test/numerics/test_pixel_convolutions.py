"""Convolutions of single pixels, which are products of matrices on the CPU."""

import copy

import pytest
import torch
from torch import nn

import girih

FORMATS = [torch.contiguous_format, torch.channels_last]
CASES = {
    "plain": (1, 16, 9, 24, 1, True),
    "primes": (3, 7, 11, 13, 1, True),
    "a_channel": (2, 1, 5, 1, 1, False),
    "a_pixel": (4, 32, 1, 10, 1, True),
    "strided": (2, 12, 15, 20, 2, False),
    "large": (1, 96, 28, 100, 1, True),
}


@pytest.mark.parametrize("freezing", [False, True])
@pytest.mark.parametrize("layout", FORMATS, ids=["rows", "channels_last"])
@pytest.mark.parametrize("case", CASES)
def test_network(case, layout, freezing):
    count, channels, size, others, stride, bias = CASES[case]
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(channels, others, 1, stride=stride, bias=bias),
        nn.BatchNorm2d(others),
        nn.Hardswish(),
        nn.Conv2d(others, channels, 1),
    )
    model = model.eval().to(memory_format=layout)
    x = torch.randn(count, channels, size, size + 2).to(memory_format=layout)
    options = {"fallback": False, "freezing": freezing}
    compiled = girih.compile(model, fullgraph=True, options=options)
    with torch.no_grad():
        actual, eager = compiled(x), model(x)
        exact = copy.deepcopy(model).double()(x.double())
    assert actual.stride() == eager.stride()
    error, usual = ((y - exact).abs().max() for y in (actual, eager))
    assert error <= 4 * usual + 1e-6
    assert girih.report(compiled).graphs[0].externs == 0


@pytest.mark.parametrize("size", [8, 13])
def test_training(size):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(6, 10, 1), nn.ReLU(), nn.Conv2d(10, 4, 1, stride=2))
    twin = copy.deepcopy(model)
    compiled = girih.compile(twin, options={"fallback": False})
    x = torch.randn(3, 6, size, size)
    pairs = []
    for function, module in ((model, model), (compiled, twin)):
        own = x.clone().requires_grad_()
        function(own).square().sum().backward()
        pairs.append([own.grad, *(p.grad for p in module.parameters())])
    for expected, actual in zip(*pairs, strict=True):
        torch.testing.assert_close(actual, expected)


def test_weights_that_change_are_seen():
    model = nn.Conv2d(8, 8, 1)
    compiled = girih.compile(model, options={"freezing": True})
    x = torch.randn(1, 8, 5, 5)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x), model(x))
            model.weight.mul_(2)


def test_bad_channels_are_eagers_error():
    model = nn.Conv2d(8, 4, 1)
    compiled = girih.compile(model)
    with pytest.raises(RuntimeError, match="expected input"):
        compiled(torch.randn(1, 7, 5, 5))
