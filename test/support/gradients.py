"""Gradients of functions to any order, and how they compare.

A *sweep* of order n gives, for random cotangents of a function's results, the gradients
of its inputs; then, for random cotangents of those, their gradients by the inputs and
by the first cotangents; and so on. ``eager_sweep`` draws the cotangents; other
implementations of the function get the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

Gradients = list["Tensor | None"]

# The tolerances of torch.autograd.gradcheck.
GRADCHECK = (1e-5, 1e-3)
EXACT = (1e-7, 1e-7)


@dataclass
class Order:
    """One level of a sweep.

    Attributes:
        cotangents: One for each result of the level before, None where that needs no
            gradient.
        gradients: One for each input of the level before that needs one, None where
            nothing depends on it.
    """

    cotangents: Gradients
    gradients: Gradients


@dataclass
class Sweep:
    """What a function gives, and its gradients.

    Attributes:
        results: The function's results.
        orders: The first order first.
    """

    results: list[Tensor]
    orders: list[Order] = field(default_factory=list)


def fresh(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Leaves with the same values and layouts, with gradients where those have."""
    copies = [tensor.detach().clone() for tensor in tensors]
    for copy, tensor in zip(copies, tensors, strict=True):
        copy.requires_grad_(tensor.requires_grad)
    return copies


def eager_sweep(function: Callable, tensors: Sequence[Tensor], order: int) -> Sweep:
    """The gradients of a function by torch's autograd, for random cotangents."""
    generator = torch.Generator().manual_seed(1)

    def draw(level: int, place: int, value: Tensor) -> Tensor:
        return torch.randn(value.shape, dtype=value.dtype, generator=generator)

    return _sweep(function, tensors, order, draw)


def sweep_like(reference: Sweep, function: Callable, tensors: Sequence) -> Sweep:
    """The same for another implementation of the function, with equal cotangents."""

    def given(level: int, place: int, value: Tensor) -> Tensor:
        known = reference.orders[level].cotangents[place]
        return torch.zeros_like(value) if known is None else known.clone()

    return _sweep(function, tensors, len(reference.orders), given)


def _sweep(function, tensors, order: int, cotangent: Callable) -> Sweep:
    wanted: list[Tensor] = fresh(tensors)
    torch.manual_seed(0)
    results: Gradients = list(function(*wanted))
    sweep = Sweep(_detached(results))
    wanted = [source for source in wanted if source.requires_grad]
    for level in range(order):
        places = [i for i, r in enumerate(results) if _needs(r)]
        if not places:
            break
        is_last = level == order - 1
        given: Gradients = [None] * len(results)
        for i in places:
            given[i] = cotangent(level, i, results[i]).requires_grad_(not is_last)
        results = _gradients(results, wanted, given, not is_last)
        sweep.orders.append(Order(_detached(given), _detached(results)))
        wanted = [*wanted, *(given[i] for i in places)]
    return sweep


def _gradients(results, wanted, given: Gradients, create_graph: bool) -> Gradients:
    pairs = [(r, g) for r, g in zip(results, given, strict=True) if g is not None]
    outputs, cotangents = zip(*pairs, strict=True)
    return list(
        torch.autograd.grad(
            outputs, wanted, cotangents, create_graph=create_graph, allow_unused=True
        )
    )


def _needs(value: Tensor | None) -> bool:
    return value is not None and value.requires_grad


def _detached(values: Gradients) -> Gradients:
    return [None if value is None else value.detach() for value in values]


# Comparison -------------------------------------------------------------------------


def agree(actual: Sweep, expected: Sweep, tolerance: tuple[float, float]) -> str:
    """Where two sweeps differ first; empty where they agree.

    Args:
        actual: The sweep to judge.
        expected: Eager's.
        tolerance: Absolute and relative.
    """
    for label, mine, theirs in _pairs(actual, expected):
        if problem := _difference(mine, theirs, tolerance):
            return f"{label}: {problem}"
    return ""


def _pairs(actual: Sweep, expected: Sweep) -> Iterator[tuple]:
    assert len(actual.orders) == len(expected.orders), "another number of orders"
    for i, pair in enumerate(zip(actual.results, expected.results, strict=True)):
        yield f"result {i}", *pair
    levels = zip(actual.orders, expected.orders, strict=True)
    for level, (mine, theirs) in enumerate(levels, 1):
        pairs = zip(mine.gradients, theirs.gradients, strict=True)
        for i, pair in enumerate(pairs):
            yield f"order {level}, gradient {i}", *pair


def _difference(mine, theirs, tolerance) -> str:
    """None and zeros are the same here."""
    if mine is None or theirs is None:
        other = theirs if mine is None else mine
        is_nothing = other is None or not other.abs().max().item() if _has(other) else 1
        return "" if is_nothing else f"{_shown(mine)} instead of {_shown(theirs)}"
    if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
        return f"{_kind(mine)} instead of {_kind(theirs)}"
    absolute, relative = tolerance
    if torch.allclose(mine, theirs, relative, absolute, equal_nan=True):
        return ""
    return f"{_shown(mine)} instead of {_shown(theirs)}"


def _has(value: Tensor | None) -> bool:
    return value is not None and value.numel() > 0


def _kind(value: Tensor) -> str:
    return f"{value.dtype} of {tuple(value.shape)}"


def _shown(value: Tensor | None, count: int = 6) -> str:
    if value is None:
        return "None"
    flat = value.reshape(-1)
    numbers = [f"{number:.6g}" for number in flat[:count].tolist()]
    return f"[{', '.join(numbers)}{', ...' if flat.numel() > count else ''}]"
