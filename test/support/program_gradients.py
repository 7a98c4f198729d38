"""Compares compiled programs with eager ones: results, effects and gradients.

``assert_same_gradients(function, inputs)`` runs a program both ways on copies of the
inputs, weighs all results that require a gradient, and compares the gradients of that
sum, then the gradients of the gradients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

import girih


def leaf(*shape: int, seed: int = 0, grad: bool = True, dtype=torch.float64) -> Tensor:
    """A tensor of normally distributed numbers, the same for the same arguments."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    return values.to(dtype).requires_grad_(grad)


@dataclass
class Observation:
    """What a run of a program shows.

    Attributes:
        results: What it returned.
        inputs: What the inputs hold afterwards.
        gradients: For each order, a gradient or None for each input.
    """

    results: list[Any]
    inputs: list[Tensor]
    gradients: list[list[Tensor | None]] = field(default_factory=list)


def observe(function: Callable, inputs: Sequence[Tensor], order: int) -> Observation:
    """Runs a program on copies of the inputs, which stay leaves."""
    leaves = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    wanted = [x for x in leaves if x.requires_grad]
    torch.manual_seed(0)
    results = pytree.tree_leaves(function(*leaves))
    seen = Observation(results, leaves)
    values, numbers = results, torch.Generator().manual_seed(1)
    for level in range(1, order + 1):
        loss = _weighed(values, numbers)
        if loss is None or not wanted:
            break
        values = torch.autograd.grad(
            loss, wanted, create_graph=level < order, allow_unused=True
        )
        seen.gradients.append(list(values))
    return seen


def _weighed(values: Sequence[Any], numbers: torch.Generator) -> Tensor | None:
    """A sum of the values that require a gradient, with random weights."""
    terms = [
        (value * torch.rand(value.shape, generator=numbers)).sum().abs().double()
        for value in values
        if isinstance(value, Tensor) and value.requires_grad
    ]
    return sum(terms) if terms else None


def compiled(function: Callable, **given: Any) -> Callable:
    """The function, compiled as one graph; what can't be compiled raises."""
    given = {"fullgraph": True, "dynamic": False} | given
    given = {"options": {"fallback": False}} | given
    return girih.compile(function, **given)


def assert_same_gradients(
    function: Callable,
    inputs: Sequence[Tensor],
    *,
    order: int = 2,
    is_native: bool = True,
    tolerance: float = 1e-9,
    **given: Any,
) -> list[str | None]:
    """Asserts that the compiled program shows what the eager one shows.

    Args:
        function: The program.
        inputs: Leaves; those that require a gradient are derived by.
        order: How often.
        is_native: Whether every graph must be compiled; else some run eager.
        tolerance: Absolute and relative.
        **given: Options of ``girih.compile``.

    Returns:
        For each graph why it ran eager, or None.
    """
    expected = observe(function, inputs, order)
    girih.reset()
    if not is_native:
        given = {"fullgraph": False, "options": {}} | given
    made = compiled(function, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", girih.FallbackWarning)
        actual = observe(made, inputs, order)
    _assert_same(actual, expected, tolerance)
    reasons = [graph.fallback for graph in girih.report(made).graphs]
    assert reasons, "no graph was captured"
    if is_native:
        assert not any(reasons), f"runs eager: {reasons}"
    return reasons


def _assert_same(actual: Observation, expected: Observation, tolerance: float) -> None:
    for name in ("results", "inputs"):
        pairs = zip(getattr(actual, name), getattr(expected, name), strict=True)
        for number, (mine, theirs) in enumerate(pairs):
            _assert_close(mine, theirs, tolerance, f"{name}[{number}]")
    assert len(actual.gradients) == len(expected.gradients)
    orders = zip(actual.gradients, expected.gradients, strict=True)
    for order, (mine, theirs) in enumerate(orders, 1):
        for number, pair in enumerate(zip(mine, theirs, strict=True)):
            label = f"order {order}, gradient {number}"
            none = order > 1
            _assert_close(*pair, tolerance, label, is_gradient=True, is_zero_none=none)


def _assert_close(
    mine: Any,
    theirs: Any,
    tolerance: float,
    label: str,
    *,
    is_gradient: bool = False,
    is_zero_none: bool = False,
) -> None:
    """Compares two values.

    Args:
        mine: Of compiled code.
        theirs: Of eager.
        tolerance: Absolute and relative.
        label: What they are.
        is_gradient: Whether they are gradients.
        is_zero_none: Whether zeros are as good as no gradient: beyond the first order
            eager has none where a derivative is zero by its form.
    """
    if theirs is None and is_zero_none and isinstance(mine, Tensor):
        theirs = torch.zeros_like(mine)
    if not isinstance(theirs, Tensor):
        assert mine == theirs, f"{label}: {mine} instead of {theirs}"
        return
    assert isinstance(mine, Tensor), f"{label}: {mine} instead of {theirs}"
    # A gradient may require one in vain: that of zeros which eager computes with.
    agrees = mine.requires_grad == theirs.requires_grad
    assert agrees or (is_gradient and mine.requires_grad), (
        f"{label}: requires_grad is {mine.requires_grad}"
    )
    torch.testing.assert_close(
        mine.detach(),
        theirs.detach(),
        rtol=tolerance,
        atol=tolerance,
        equal_nan=True,
        msg=lambda text: f"{label}: {text}",
    )
