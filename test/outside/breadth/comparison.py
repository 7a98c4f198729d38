"""How far a compiled model's tensors are from eager's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

NEGLIGIBLE = 1e-4
"""Of the largest of all: a tensor that is smaller may be what rounding left of zero."""


class Mismatch(Exception):
    """Results that no rounding explains; the message says which."""


def tensors_of(results: Any) -> dict[str, Tensor]:
    """The tensors in what a model returned, by their place."""
    if hasattr(results, "to_tuple"):
        results = results.to_tuple()
    leaves, _ = pytree.tree_flatten_with_path(results)
    return {
        pytree.keystr(path): leaf for path, leaf in leaves if isinstance(leaf, Tensor)
    }


def distance(
    actual: Mapping[str, Tensor], expected: Mapping[str, Tensor], floor: float = 0.0
) -> float:
    """The largest relative distance of two tensors of the same name.

    It is relative to the largest magnitude of what is expected, so that a single
    wrong element counts.

    Args:
        actual: Of the compiled model.
        expected: Of eager.
        floor: The least magnitude that distances are relative to.

    Raises:
        Mismatch: Names, dtypes, sizes, devices, integers or what is not finite differ.
    """
    if list(actual) != list(expected):
        others = sorted(set(actual) ^ set(expected))
        raise Mismatch(f"{len(actual)} tensors for {len(expected)}: {others[:4]}")
    distances = (_distance(n, actual[n], expected[n], floor) for n in expected)
    return max(distances, default=0.0)


def joint_distance(
    actual: Mapping[str, Tensor], expected: Mapping[str, Tensor]
) -> float:
    """``distance``, where tensors that are nothing beside others need not agree."""
    magnitudes = [_magnitude(tensor) for tensor in expected.values()]
    # A mask's huge number is no measure for others.
    largest = min(max(magnitudes, default=0.0), 1e3)
    return distance(actual, expected, NEGLIGIBLE * largest)


def _distance(name: str, actual: Tensor, expected: Tensor, floor: float) -> float:
    for what in ("dtype", "shape", "device"):
        got, want = getattr(actual, what), getattr(expected, what)
        if got != want:
            raise Mismatch(f"{name}: {what} {got} for {want}")
    actual, expected = actual.detach(), expected.detach()
    if not (expected.is_floating_point() or expected.is_complex()):
        return _share_of_others(actual, expected)
    _check_not_finite(name, actual, expected)
    error = torch.where(expected.isfinite(), actual - expected, 0)
    return _magnitude(error) / max(_magnitude(expected), floor, 1e-30)


def _share_of_others(actual: Tensor, expected: Tensor) -> float:
    """1 for integers that differ at all: a distance says nothing of them."""
    return float(not torch.equal(actual, expected))


def _check_not_finite(name: str, actual: Tensor, expected: Tensor) -> None:
    same = torch.isfinite(actual) == torch.isfinite(expected)
    same &= torch.isnan(actual) == torch.isnan(expected)
    if not same.all():
        count = int((~same).sum())
        raise Mismatch(f"{name}: {count} of {same.numel()} are not finite in one only")


def _magnitude(x: Tensor) -> float:
    """The largest magnitude of the finite elements."""
    if x.dtype not in (torch.complex64, torch.complex128):
        x = x.double()
    x = torch.where(x.isfinite(), x, 0)
    return float(x.abs().max()) if x.numel() else 0.0
