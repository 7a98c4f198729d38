"""One run of a graph, forward and backward, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree


@dataclass
class Run:
    """What one run of a graph gave.

    Attributes:
        error: What it raised, or None.
        results: Its results, flattened.
        arguments: Its inputs, as they are afterwards.
        gradients: For each input the gradient of all results along the cotangents, or
            None; empty where nothing asks for gradients.
        backward_error: What the backward pass raised, or None.
        random: The state of the random numbers afterwards, one for each device.
    """

    error: Exception | None = None
    results: list[Any] = field(default_factory=list)
    arguments: list[Any] = field(default_factory=list)
    gradients: list[torch.Tensor | None] = field(default_factory=list)
    backward_error: Exception | None = None
    random: list[torch.Tensor] = field(default_factory=list)


def devices_of(inputs: Sequence[Any]) -> list[torch.device]:
    """The CUDA devices that tensors among the inputs are on."""
    found = {value.device for value in inputs if isinstance(value, torch.Tensor)}
    return sorted((d for d in found if d.type == "cuda"), key=str)


def random_state(devices: Sequence[torch.device]) -> list[torch.Tensor]:
    """The state of the random numbers of the processor and of devices."""
    return [torch.get_rng_state(), *map(torch.cuda.get_rng_state, devices)]


def set_random_state(
    state: Sequence[torch.Tensor], devices: Sequence[torch.device]
) -> None:
    """Sets what `random_state` returned."""
    torch.set_rng_state(state[0])
    for one, device in zip(state[1:], devices, strict=True):
        torch.cuda.set_rng_state(one, device)


@contextmanager
def own_random_numbers(inputs: Sequence[Any]) -> Iterator[Callable[[], None]]:
    """The block draws what it wants; the program's random numbers are as before.

    Gives a function that sets the state to that at the begin.
    """
    devices = devices_of(inputs)
    state = random_state(devices)
    try:
        yield lambda: set_random_state(state, devices)
    finally:
        set_random_state(state, devices)


def run(
    function: Callable,
    inputs: list[Any],
    cotangents: Callable[[Run], list],
    mode: AbstractContextManager | None = None,
) -> Run:
    """Runs a graph, and its backward pass where a result can be gone back from.

    Args:
        function: Takes the inputs; the graph's own function or what was compiled.
        inputs: Copies, which the run may write.
        cotangents: Gives those of a run's results, one for each that is differentiable.
        mode: Is on while the graph runs, and while its backward pass does.
    """
    mode = nullcontext() if mode is None else mode
    made = Run()
    leaves = [_leaf(value) if _requires_grad(value) else None for value in inputs]
    with mode:
        try:
            made.results = _pytree.tree_leaves(function(*inputs))
        except Exception as error:
            made.error = error
            return made
    made.arguments = inputs
    if torch.is_grad_enabled() and any(map(is_differentiable, made.results)):
        # Outside of the mode, which would change the cotangents too.
        given = cotangents(made)
        with mode:
            _go_back(made, leaves, given)
    made.random = random_state(devices_of(inputs))
    return made


def _go_back(made: Run, leaves: list, cotangents: list) -> None:
    results = [result for result in made.results if is_differentiable(result)]
    wanted = [leaf for leaf in leaves if leaf is not None]
    try:
        found = torch.autograd.grad(results, wanted, cotangents, allow_unused=True)
    except Exception as error:
        made.backward_error = error
        return
    given = iter(found)
    made.gradients = [None if leaf is None else next(given) for leaf in leaves]


def is_differentiable(value: Any) -> bool:
    """Whether autograd can go back from a result."""
    return isinstance(value, torch.Tensor) and value.requires_grad


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _leaf(value: torch.Tensor) -> torch.Tensor:
    """Where the gradient of a copy is found: writes change what the copy is."""
    if value.is_leaf:
        return value
    return value.grad_fn.next_functions[0][0].variable
