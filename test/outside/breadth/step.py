"""A call of a model, and a step of training it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from breadth.comparison import distance, joint_distance, tensors_of
from breadth.model import Call, Model


@dataclass
class Step:
    """What a step of training leaves behind.

    Attributes:
        loss: As a tensor of one element.
        results: What the model returned.
        gradients: Of each parameter that got one, by name.
        buffers: After the step, by name.
    """

    loss: dict[str, Tensor] = field(default_factory=dict)
    results: dict[str, Tensor] = field(default_factory=dict)
    gradients: dict[str, Tensor] = field(default_factory=dict)
    buffers: dict[str, Tensor] = field(default_factory=dict)

    def distance(self, expected: Step) -> dict[str, float]:
        """How far it is from eager's, for each of its parts."""
        return {
            "results": joint_distance(self.results, expected.results),
            "loss": distance(self.loss, expected.loss),
            "gradients": joint_distance(self.gradients, expected.gradients),
            "buffers": joint_distance(self.buffers, expected.buffers),
        }


class NothingToTrain(Exception):
    """No result of a model depends on its parameters."""


def fresh(model: Model, device: str, dtype: torch.dtype | None = None) -> Any:
    """A copy of the model, with nothing left of calls before."""
    return copy.deepcopy(model.module).to(device, dtype)


def call(
    function: Callable,
    model: Model,
    size: tuple[int, int],
    device: str,
    dtype: torch.dtype | None = None,
) -> dict[str, Tensor]:
    """Calls a function with the model's arguments; random numbers begin anew."""
    args, kwargs = arguments(model, size, device, dtype)
    return tensors_of(function(*args, **kwargs))


def arguments(
    model: Model, size: tuple[int, int], device: str, dtype: torch.dtype | None = None
) -> Call:
    """The model's arguments, made anew; random numbers begin anew after that."""
    seed()
    with _disable_current_modes():  # Inputs are float32 at first: no model rounds.
        given = model.inputs(*size)
        moved = pytree.tree_map(lambda x: _moved(x, device, dtype), given)
    seed()
    return moved


def train(function: Callable, module: Any, results: Callable) -> Step:
    """One step; the loss weighs each element of each result differently.

    Args:
        function: ``module`` or that compiled.
        module: Whose gradients and buffers are wanted.
        results: Calls a function with the arguments.
    """
    step = Step(results=results(function))
    losses = [
        _weighted(result) for result in step.results.values() if is_trained(result)
    ]
    if not losses:
        raise NothingToTrain("no result requires a gradient")
    loss = sum(losses[1:], losses[0])
    loss.backward()
    parameters = module.named_parameters()
    step.loss = {"loss": loss.detach()}
    step.gradients = {n: p.grad for n, p in parameters if p.grad is not None}
    step.buffers = dict(module.named_buffers())
    return step


def is_trained(result: Tensor) -> bool:
    """Whether a result is part of the loss."""
    return result.requires_grad and result.is_floating_point()


def _weighted(result: Tensor) -> Tensor:
    """A sum of about the size of an element, also where a norm hides the mean."""
    generator = torch.Generator().manual_seed(7)
    with _disable_current_modes():
        weights = torch.randn(result.shape, generator=generator)
        weights = weights.to(result.device, result.dtype)
    return (result * weights).sum() / max(result.numel(), 1) ** 0.5


def _moved(leaf: Any, device: str, dtype: torch.dtype | None) -> Any:
    if not isinstance(leaf, Tensor):
        return leaf
    return leaf.to(device, dtype if leaf.is_floating_point() else None)


def seed() -> None:
    """All generators that models draw from."""
    random.seed(5)
    numpy.random.seed(5)
    torch.manual_seed(5)
