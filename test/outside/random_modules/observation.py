"""What a call of a program leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from random_modules.program import Program


@dataclass
class Observation:
    """What is seen after a call.

    Attributes:
        values: Results, arguments, buffers and gradients, by what they are.
        facts: Of results and arguments: dtype, shape, strides, whether a gradient is
            required.
        shared: Which results and arguments share memory.
        error: The kind of exception that came instead, and where: "call" or "backward".
        message: Its text.
    """

    values: dict[str, Tensor | None] = field(default_factory=dict)
    facts: dict[str, tuple] = field(default_factory=dict)
    shared: set[tuple[str, str]] = field(default_factory=set)
    error: tuple[str, str] | None = None
    message: str = ""


def observe(
    function: Callable,
    module: nn.Module,
    program: Program,
    given: list[Tensor],
    gradients: bool = True,
) -> Observation:
    """Calls a function as a program says; random numbers begin anew.

    Args:
        function: ``module``, or that compiled.
        module: Whose parameters and buffers are meant.
        program: What each argument is.
        given: The arguments, before they take part in a gradient.
        gradients: Whether any are computed.
    """
    seen = Observation()
    kinds = [argument.grad if gradients else "" for argument in program.inputs]
    leaves = [
        x.detach().requires_grad_() if kind else x
        for x, kind in zip(given, kinds, strict=True)
    ]
    args = [
        x * 1 if kind == "inner" else x for x, kind in zip(leaves, kinds, strict=True)
    ]
    torch.manual_seed(0)
    try:
        with torch.set_grad_enabled(gradients):
            results = function(*args)
    except Exception as error:
        seen.error, seen.message = ("call", type(error).__name__), str(error)
        return seen
    _note(seen, results, args, module)
    if gradients:
        _differentiate(seen, [*results, *args], leaves, module)
    return seen


def _note(seen: Observation, results: Any, args: list, module: nn.Module) -> None:
    named = {f"result {i}": x for i, x in enumerate(results)}
    named |= {f"argument {i}": x for i, x in enumerate(args)}
    for name, x in named.items():
        seen.values[name] = x.detach().clone()
        seen.facts[name] = (x.dtype, tuple(x.shape), _steps(x), x.requires_grad)
    for name, x in module.named_buffers():
        seen.values[f"buffer {name}"] = x.detach().clone()
    memory = {name: x.untyped_storage().data_ptr() for name, x in named.items()}
    pairs = combinations(sorted(named), 2)
    seen.shared = {(p, q) for p, q in pairs if memory[p] == memory[q]}


def _steps(x: Tensor) -> tuple[int, ...]:
    """Strides of the dims in which there is more than one element."""
    return tuple(s for n, s in zip(x.shape, x.stride(), strict=True) if n > 1)


def _differentiate(seen: Observation, found: list, leaves: list, module) -> None:
    """Gradients of a sum that weighs each element of ``found`` differently."""
    wanted = {f"gradient of argument {i}": x for i, x in enumerate(leaves)}
    wanted |= {f"gradient of {name}": x for name, x in module.named_parameters()}
    wanted = {name: x for name, x in wanted.items() if x.requires_grad}
    sources = [x for x in found if x.requires_grad]
    if not sources or not wanted:
        return
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(x.shape, generator=generator) for x in sources]
    cotangents = [y.to(x.dtype) for x, y in zip(sources, drawn, strict=True)]
    try:
        gradients = torch.autograd.grad(
            sources, list(wanted.values()), cotangents, allow_unused=True
        )
    except Exception as error:
        seen.error, seen.message = ("backward", type(error).__name__), str(error)
        return
    seen.values |= dict(zip(wanted, gradients, strict=True))
