"""Programs that train, written once and driven twice: eager, and compiled.

A *scenario* takes ``compile`` (which leaves functions as they are, or compiles them)
and returns what can be observed: tensors, numbers, texts, nested in lists and dicts.
Both runs must give the same. A scenario registers itself in the table of its file::

    @scenarios.add
    def gradient_of_a_product(compile):
        ...
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

import girih


@dataclass(frozen=True)
class Scenario:
    """A program and what is known about it.

    Attributes:
        run: Takes ``compile`` and returns what can be observed.
        eager: Why nothing of it is compiled, or None.
        overlaps: Whether calls run eager as arguments that are written share memory.
        broken: Whether graph breaks are expected; if not, it is one graph a function.
    """

    run: Callable[[Callable], Any]
    eager: str | None = None
    overlaps: bool = False
    broken: bool = False


@dataclass
class Scenarios:
    """A table of scenarios by name."""

    table: dict[str, Scenario] = field(default_factory=dict)

    def add(self, run: Callable | None = None, **known: Any) -> Callable:
        """Registers a function, as a decorator with or without arguments."""
        if run is None:
            return lambda function: self.add(function, **known)
        assert run.__name__ not in self.table, run.__name__
        self.table[run.__name__] = Scenario(run, **known)
        return run


def leaf(*shape: int, seed: int = 0, grad: bool = True, dtype=torch.float64) -> Tensor:
    """A tensor of normally distributed numbers, the same for the same arguments."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    return values.to(dtype).requires_grad_(grad)


def features(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """What is inside, and what is computed of it and of an argument."""
    y = (x @ w).sin()
    return y, (y * y * x.sum()).sum()


def called(compile: Callable, function: Callable = features) -> tuple:
    """Two leaves, and the results of a function of theirs, compiled."""
    x, w = leaf(3, 3), leaf(3, 3, seed=1)
    return x, w, *compile(function)(x, w)


def outcome_of(action: Callable[[], Any]) -> str:
    """What an action raises: the type and the start of the message."""
    try:
        action()
    except Exception as error:  # noqa: BLE001  (which one it is, is the result)
        text = re.sub(r"\W+", " ", str(error))
        return f"{type(error).__name__}: {text[:60]}"
    return "no error"


def check(scenario: Scenario, **options: Any) -> None:
    """Asserts that a scenario gives the same compiled as in eager."""
    expected = _run(scenario, lambda function, **given: function)
    girih.reset()
    compiled: list[Callable] = []

    def compile(function, **given):
        is_strict = scenario.eager is None and not scenario.overlaps
        given.setdefault("fullgraph", is_strict and not scenario.broken)
        given.setdefault("dynamic", False)
        settings = {"fallback": False} if is_strict else {}
        settings |= options | given.pop("options", {})
        made = girih.compile(function, options=settings, **given)
        compiled.append(made)
        return made

    actual = _run(scenario, compile)
    assert_same(actual, expected)
    assert compiled, "the scenario compiles nothing"
    if scenario.eager is None:
        _assert_compiled(compiled)


def _run(scenario: Scenario, compile: Callable) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scenario.run(compile)


def _assert_compiled(compiled: list[Callable]) -> None:
    """Asserts that no graph was left to eager."""
    graphs = [graph for made in compiled for graph in girih.report(made).graphs]
    assert graphs, "no graph was captured"
    reasons = [graph.fallback for graph in graphs if graph.fallback is not None]
    assert not reasons, f"runs eager: {reasons}"


def assert_same(actual: Any, expected: Any) -> None:
    """Asserts equal structure, and tensors that are close in all that shows."""
    mine, tree = pytree.tree_flatten(actual)
    theirs, other_tree = pytree.tree_flatten(expected)
    assert str(tree) == str(other_tree), f"{actual} instead of {expected}"
    for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        if isinstance(other, Tensor):
            _assert_same_tensor(one, other, f"observation {number}")
        else:
            assert one == other, f"observation {number}: {one} instead of {other}"


def _assert_same_tensor(actual: Any, expected: Tensor, label: str) -> None:
    assert isinstance(actual, Tensor), f"{label}: {actual} instead of {expected}"
    for name in ("requires_grad", "is_leaf"):
        got, want = getattr(actual, name), getattr(expected, name)
        assert got == want, f"{label}: {name} is {got}"
    torch.testing.assert_close(
        actual.detach(),
        expected.detach(),
        equal_nan=True,
        msg=lambda text: f"{label}: {text}",
    )
