"""Cost of a call of captured code that does nothing, or one thing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

import girih
from benchmarks.measure import Timing, measure

PARAMETERS = 400


class Parameters(nn.Module):
    """400 parameters in 200 linear layers, each of which is read."""

    def __init__(self):
        super().__init__()
        layers = [nn.Linear(4, 4) for _ in range(PARAMETERS // 2)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        """A value that depends on all parameters."""
        for layer in self.layers:
            x = x + layer.weight[0] + layer.bias
        return x


def add(x, y):
    """One operation on two tensors."""
    return x + y


@dataclass(frozen=True)
class Row:
    """One case; times by engine."""

    case: str
    timings: dict[str, Timing]


def _first_input(gm, example_inputs) -> Callable:
    """A backend whose code does nothing, so that only the way to it is measured."""
    return lambda *inputs: (inputs[0],)


def _with_girih(function, backend) -> Callable:
    return girih.compile(function, backend=backend, fullgraph=True)


def _with_dynamo(function, backend) -> Callable:
    return torch.compile(function, backend=backend, fullgraph=True)


CAPTURES = {"TorchDynamo": _with_dynamo, "girih": _with_girih}
"""From the name to what captures: ``(function, backend) -> callable``."""

CASES = {
    "module with 400 parameters, no work": (Parameters, 1, _first_input),
    "two tensors, no work": (lambda: add, 2, _first_input),
    "two tensors, one addition": (lambda: add, 2, "eager"),
}
"""From the name to what makes the function, its number of inputs and the backend."""


def measure_case(name: str, *, quick: bool) -> Row:
    """Calls plain and captured code in turn."""
    make, count, backend = CASES[name]
    function, inputs = make(), [torch.ones(4) for _ in range(count)]
    calls = {"plain": functools.partial(function, *inputs)}
    for engine, capture in CAPTURES.items():
        calls[engine] = functools.partial(capture(function, backend), *inputs)
        calls[engine]()
    return Row(name, measure(calls, seconds=1.0 if quick else 5.0, max_rounds=501))
