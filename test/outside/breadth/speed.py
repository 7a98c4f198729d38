"""Times of a model, eager and compiled, in alternating calls of one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from breadth.comparison import tensors_of
from breadth.model import Model
from breadth.step import arguments, is_trained

SECONDS = 0.5
"""After which no further round begins. A model is timed twice: its results, a step."""
LEAST_ROUNDS = 3
"""Rounds that are timed however long they take."""


def result_times(
    functions: Mapping[str, Callable], model: Model, device: str
) -> dict[str, float]:
    """Median seconds of a call in evaluation, by the function's name."""

    def run(function: Callable, args: tuple, kwargs: Mapping[str, Any]) -> None:
        function(*args, **kwargs)

    with torch.no_grad():
        return _medians(functions, run, model, device)


def step_times(
    functions: Mapping[str, Callable], model: Model, device: str
) -> dict[str, float]:
    """Median seconds of a call in training with its backward pass, by name.

    Gradients are added to those of the calls before.
    """

    def run(function: Callable, args: tuple, kwargs: Mapping[str, Any]) -> None:
        results = tensors_of(function(*args, **kwargs)).values()
        sum(x.sum() for x in results if is_trained(x)).backward()

    return _medians(functions, run, model, device)


def _medians(
    functions: Mapping[str, Callable], run: Callable, model: Model, device: str
) -> dict[str, float]:
    """Medians over rounds in which each function is called once.

    A change of the machine's speed then hits both, and each comes first in every
    second round. The first call of each is not timed: it may compile.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    for name in names:
        _timed(functions[name], run, model, device)
    end = time.perf_counter() + SECONDS
    while len(seconds[names[0]]) < LEAST_ROUNDS or time.perf_counter() < end:
        for name in names:
            seconds[name].append(_timed(functions[name], run, model, device))
        names.reverse()
    return {name: statistics.median(seconds[name]) for name in functions}


def _timed(function: Callable, run: Callable, model: Model, device: str) -> float:
    """Seconds of one call. Its arguments are new, as a model may write to them."""
    args, kwargs = arguments(model, model.sizes[0], device)
    _wait(device)
    start = time.perf_counter()
    run(function, args, kwargs)
    _wait(device)
    return time.perf_counter() - start


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
