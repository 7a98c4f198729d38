"""Pads and crops of few elements against eager: each mode, numbers known or not."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F
from extent import IS_LONG, spread

import girih

MODES = ("constant", "reflect", "replicate", "circular")
PADS = range(-2, 4)
SIZES = (0, 1, 2, 3)
# Those that are 0 or 1 get programs of their own.
FEW = ((-2, 2), (-1, 3), (2, -1), (-2, -1), (2, 3))
OPTIONS = {"fallback": False}


def _observed(function, *given):
    """The values, strides and gradient of a call, or the type of its error."""
    leaf = given[0].clone().requires_grad_()
    try:
        results = function(leaf, *given[1:])
    except (RuntimeError, ValueError) as error:
        return type(error)
    [gradient] = torch.autograd.grad(sum((y * y).sum() for y in results), leaf)
    return [(y.detach(), y.stride()) for y in results], gradient


def _is_known(mode: str, pair: tuple[int, int]) -> bool:
    """Whether eager writes all that it gives.

    It leaves memory as it was where a side is cut and the other one repeated around.
    """
    return mode != "circular" or min(pair) >= 0 or max(pair) <= 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dims", [1, 2] if IS_LONG else [2])
def test_pads_that_are_arguments(mode, dims):
    def function(x, first, last):
        widths = (first, last, last, first)[: dims * 2]
        return [F.pad(x, widths, mode=mode), F.pad(x * 2, widths, mode=mode) + 1]

    compiled = girih.compile(function, dynamic=True, options=OPTIONS)
    tried = itertools.product(PADS, PADS) if IS_LONG else FEW
    pairs = [pair for pair in tried if _is_known(mode, pair)]
    for size, pair in spread(SIZES if IS_LONG else (1, 3), pairs, every=2):
        given = torch.randn((2, 3, 4, size)[-dims - 1 :], dtype=torch.float64), *pair
        _expect_alike(_observed(compiled, *given), _observed(function, *given))


@pytest.mark.parametrize(
    ("dynamic", "mode", "size"),
    spread([False, True], MODES, SIZES if IS_LONG else (1, 3), every=2),
)
def test_pads_that_are_constants(mode, size, dynamic):
    x = torch.randn(3, size, dtype=torch.float64)
    pairs = [
        pair
        for pair in itertools.product(PADS, PADS)
        if _is_known(mode, pair) and _is_taken(x, pair, mode)
    ]

    def function(x):
        return [F.pad(x * 2, pair, mode=mode) for pair in pairs]

    if pairs:
        compiled = girih.compile(function, dynamic=dynamic, options=OPTIONS)
        _expect_alike(_observed(compiled, x), _observed(function, x))


def _is_taken(x, pair, mode) -> bool:
    try:
        F.pad(x, pair, mode=mode)
    except (RuntimeError, ValueError):
        return False
    return True


def _expect_alike(found, wanted):
    if isinstance(wanted, type):
        assert found is wanted
    else:
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
