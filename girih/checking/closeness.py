"""What float arithmetic explains, and what it does not.

A compiled program rounds at other places than eager, so its results differ from eager's
by about as much as eager's differ from the true ones. What is allowed is measured, not
assumed: how far eager's result is from that in float64, and how far it moves when every
float on the way moves by one unit in its last place (stochastic arithmetic: Vignes, "A
stochastic arithmetic for reliable scientific computation", 1993). A program that
amplifies rounding is thereby given what it needs, and one that does not is held to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

FACTOR = 16.0
"""Times that what was measured may be exceeded: both are samples of a random error."""

ULPS = 8.0
"""Units in the last place that are always allowed, of a value and of the mean one."""


def difference(actual: Any, expected: Any, samples: Sequence[Any]) -> str | None:
    """How a value of the compiled program differs from eager's, or None.

    Args:
        actual: Of the compiled program.
        expected: Eager's.
        samples: The same value of eager in float64 and with other roundings; None
            where it is not known.
    """
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        same = type(actual) is type(expected) and _same(actual, expected)
        return None if same else f"is {actual!r} instead of {expected!r}"
    if text := _other_kind(actual, expected):
        return text
    actual, expected = actual.detach(), expected.detach()
    samples = [s.detach() for s in samples if isinstance(s, torch.Tensor)]
    samples = [sample for sample in samples if sample.shape == expected.shape]
    if expected.is_complex():
        actual, expected = torch.view_as_real(actual), torch.view_as_real(expected)
        samples = [torch.view_as_real(sample) for sample in samples]
    if expected.is_floating_point():
        return _float_difference(actual, expected, samples)
    return _exact_difference(actual, expected, samples)


def _same(actual: Any, expected: Any) -> bool:
    return actual == expected or (actual != actual and expected != expected)


def _other_kind(actual: torch.Tensor, expected: torch.Tensor) -> str | None:
    """What eager's tensor is, that this one is not."""
    for name in ("dtype", "device", "requires_grad", "layout"):
        here, there = getattr(actual, name), getattr(expected, name)
        if here != there:
            return f"has {name} {here} instead of {there}"
    if actual.shape != expected.shape:
        return f"has the sizes {tuple(actual.shape)} instead of {tuple(expected.shape)}"
    dims = zip(actual.shape, actual.stride(), expected.stride(), strict=True)
    if actual.numel() and any(n > 1 and a != b for n, a, b in dims):
        return f"has the strides {actual.stride()} instead of {expected.stride()}"
    return None


def _exact_difference(actual, expected, samples) -> str | None:
    """Of whole numbers, where rounding can only turn what it turns in eager too."""
    wrong = actual != expected
    for sample in samples:
        wrong &= sample == expected
    return _told(wrong, actual, expected, "")


def _float_difference(actual, expected, samples) -> str | None:
    one, other = actual.double(), expected.double()
    wide = [sample.double() for sample in samples]
    wrong = _differs_in_kind(one, other)
    for sample in wide:
        wrong &= ~_differs_in_kind(sample, other)
    finite = torch.isfinite(one) & torch.isfinite(other)
    allowed = _allowed(other, wide, torch.finfo(expected.dtype).eps)
    wrong |= finite & ((one - other).abs() > allowed)
    if not wrong.any():
        return None
    limit = allowed.masked_select(wrong).min().item()
    return _told(wrong, actual, expected, f" (allowed: {limit:.3g})")


def _differs_in_kind(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where one value is finite, infinite or NaN, and the other is not that."""
    infinite = torch.isinf(one) | torch.isinf(other)
    nan = torch.isnan(one) != torch.isnan(other)
    return nan | (infinite & (one != other) & ~torch.isnan(one))


def _allowed(expected: torch.Tensor, samples, eps: float) -> torch.Tensor:
    """How far each value may be from eager's."""
    finite = torch.isfinite(expected)
    sizes = torch.where(finite, expected, 0.0).abs()
    mean = sizes.square().mean().sqrt() if sizes.numel() else sizes.sum()
    allowed = ULPS * eps * (sizes + mean)
    for sample in samples:
        both = finite & torch.isfinite(sample)
        moved = torch.where(both, sample - expected, 0.0).abs()
        # The largest one counts for all: where eager is exact by luck it is no measure.
        allowed = allowed + FACTOR * (moved.max() if moved.numel() else 0.0)
    return allowed


def _told(wrong: torch.Tensor, actual, expected, allowed: str) -> str | None:
    """How many elements are wrong, and the first of them."""
    count = int(wrong.sum())
    if count == 0:
        return None
    place = tuple(wrong.nonzero()[0].tolist())
    here, there = actual[place].item(), expected[place].item()
    of = f"{count} of {wrong.numel()} elements differ"
    if not place:
        return f"is {here!r} instead of {there!r}{allowed}"
    return f"{of}, first {list(place)}: {here!r} instead of {there!r}{allowed}"
