"""The check that results agree, done before anything is measured."""

from __future__ import annotations

import torch

TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 1e-4,
    torch.bfloat16: 2e-2,
    torch.int64: 0.0,
}
"""Largest difference that counts as agreement, relative to the largest value."""


class Disagreement(AssertionError):
    """Two engines computed different results."""


def flatten(result) -> list[torch.Tensor]:
    """The tensors of a result: a tensor, a sequence, or a mapping."""
    if isinstance(result, torch.Tensor):
        return [result]
    if hasattr(result, "values"):
        result = list(result.values())
    if isinstance(result, list | tuple):
        return [tensor for part in result for tensor in flatten(part)]
    return []


def difference(actual, expected) -> float:
    """Largest difference of two results, relative to the largest expected value.

    Raises:
        Disagreement: Number, shapes or places of NaN differ.
    """
    actual, expected = flatten(actual), flatten(expected)
    if len(actual) != len(expected) or not expected:
        raise Disagreement(f"expected {len(expected)} tensors, got {len(actual)}")
    return max(map(_difference_of_tensors, actual, expected))


def _difference_of_tensors(actual: torch.Tensor, expected: torch.Tensor) -> float:
    if actual.shape != expected.shape:
        raise Disagreement(f"expected {expected.shape}, got {actual.shape}")
    if not expected.numel():
        return 0.0
    actual, expected = actual.double(), expected.double()
    if not torch.equal(actual.isnan(), expected.isnan()):
        raise Disagreement("NaN stands in different places")
    scale = expected.abs().nan_to_num().max().clamp(min=1e-30)
    return float((actual - expected).nan_to_num().abs().max() / scale)


def reference(function, inputs):
    """The function's result in float64."""
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    return function(*wide)


def check(name: str, actual, expected, dtype: torch.dtype) -> float:
    """Returns the difference of the two results.

    Raises:
        Disagreement: It exceeds the tolerance of the dtype.
    """
    found = difference(actual, expected)
    if not found <= TOLERANCE[dtype]:
        raise Disagreement(
            f"{name} differs by {found:.2e}, tolerance {TOLERANCE[dtype]:.0e}"
        )
    return found
