"""Whole numbers that are computed of 16 bits: those of eager, bit for bit.

What decides them is rounded op by op, as eager stores it: the scale of a quantisation,
a comparison's operands, the keys of a sort.
"""

from __future__ import annotations

import pytest
import torch

import girih

_DTYPES = (torch.float16, torch.bfloat16)


def _absmax(w):
    scale = w.abs().amax(-1, keepdim=True) / 127
    return (w / scale).round().to(torch.int8), scale


def _affine(w):
    low, high = w.amin(1, keepdim=True), w.amax(1, keepdim=True)
    scale = (high - low) / 255
    zero = (-low / scale).round()
    return (w / scale + zero).round().clamp(0, 255).to(torch.uint8), scale, zero


def _groups_of_four_bits(w):
    groups = w.reshape(w.shape[0], -1, 20)
    low, high = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    scale = (high - low).clamp(min=1e-5) / 15
    zero = (-low / scale).round().clamp(0, 15)
    whole = ((groups / scale).round() + zero).clamp(0, 15)
    return whole.to(torch.uint8), scale, ((whole - zero) * scale).reshape(w.shape)


def _float8(w):
    scale = w.abs().amax(1, keepdim=True) / 448
    return (w / scale).to(torch.float8_e4m3fn).float(), scale


def _straight_through(w):
    scale = w.abs().amax(1, keepdim=True) / 127
    whole = (w / scale).round()
    return w + (whole * scale - w).detach(), whole


def _whole_numbers(w):
    return [
        torch.floor(w * 3.1 + w * w),
        torch.ceil(w * w - w),
        torch.trunc(w * 7 * w),
        (w.sin() * w * 9).to(torch.int64),
        torch.sign(w * w - w * 3 + w),
    ]


def _quotients(w):
    a, b = w * w + w, w * 0.3 + 2
    return torch.remainder(a, b), torch.fmod(a, b), a // b


def _places(w):
    keys = w * w - w * 2
    places = torch.linspace(-1, 1, 50, dtype=w.dtype)
    return [
        keys.argmax(1),
        keys.sort(dim=1, stable=True).indices,
        keys.topk(3, 1).values,
        keys > w.exp() * 0.3,
        torch.bucketize(keys, places),
        torch.searchsorted(places, keys),
    ]


def _of_32_bits(w):
    wide = (w * w - w).float()
    return (wide * 10).round(), wide > 0.3, (wide * 5).int()


@pytest.mark.parametrize("dtype", _DTYPES, ids=str)
@pytest.mark.parametrize(
    "function",
    [
        _absmax,
        _affine,
        _float8,
        _groups_of_four_bits,
        _of_32_bits,
        _places,
        _quotients,
        _straight_through,
        _whole_numbers,
    ],
)
def test_like_eager(function, dtype):
    w = torch.randn(64, 500, generator=torch.Generator().manual_seed(0)).to(dtype)
    found = girih.compile(function, options={"fallback": False})(w)
    for a, b in zip(found, function(w), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("dtype", _DTYPES, ids=str)
def test_a_derivative_through_a_comparison(dtype):
    """The backward pass decides as the forward pass does."""

    def function(w):
        scaled = w / (w.abs().amax(1, keepdim=True) / 7)
        return torch.where(scaled * scaled > 2.5, scaled * w, w).square()

    w = torch.randn(16, 100, generator=torch.Generator().manual_seed(0)).to(dtype)
    results = []
    for each in (function, girih.compile(function, options={"fallback": False})):
        x = w.clone().requires_grad_()
        y = each(x)
        results.append((y, *torch.autograd.grad(y.sum(), x)))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)
