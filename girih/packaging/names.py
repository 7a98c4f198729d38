"""Names of the tensors that a function finds without being given them.

A tensor is called by the way from the function to it: ``net.head.weight``, where
``net`` is a variable of the surrounding function, or ``optimizer.state.0.exp_avg``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch

_DEPTH = 3  # of containers in one another


def named_tensors(target: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors that a function, method or module may read, each with a name.

    A tensor may come several times. Tensors that no name leads to are left out.

    Args:
        target: What is packaged.
    """
    return _Walk().of_target(target)


class _Walk:
    """A walk over what a function can reach; each module is met once."""

    def __init__(self):
        self._seen: set[int] = set()

    def of_target(self, target: Any) -> Iterator[tuple[str, torch.Tensor]]:
        owner = getattr(target, "__self__", None)
        if isinstance(target, torch.nn.Module):
            yield from self._of_module("", target)
            return
        if isinstance(owner, torch.nn.Module):
            yield from self._of_module("", owner)
        elif owner is not None and hasattr(owner, "__dict__"):
            for name, value in vars(owner).items():
                yield from self._named(name, value)
        function = inspect.unwrap(target) if callable(target) else target
        function = getattr(function, "__func__", function)
        for name, value in _variables(function).items():
            yield from self._named(name, value)

    def _named(
        self, name: str, value: Any, depth: int = 0
    ) -> Iterator[tuple[str, torch.Tensor]]:
        if isinstance(value, torch.Tensor):
            yield from _with_gradient(name, value)
        elif isinstance(value, torch.nn.Module):
            yield from self._of_module(f"{name}.", value)
        elif isinstance(value, torch.optim.Optimizer):
            yield from self._of_optimizer(name, value)
        elif depth < _DEPTH and isinstance(value, (list, tuple)):
            for number, item in enumerate(value):
                yield from self._named(f"{name}.{number}", item, depth + 1)
        elif depth < _DEPTH and isinstance(value, Mapping):
            for key, item in value.items():
                yield from self._named(f"{name}.{key}", item, depth + 1)

    def _of_module(
        self, prefix: str, module: torch.nn.Module
    ) -> Iterator[tuple[str, torch.Tensor]]:
        if id(module) in self._seen:
            return
        self._seen.add(id(module))
        for name, parameter in module.named_parameters():
            yield from _with_gradient(f"{prefix}{name}", parameter)
        for name, buffer in module.named_buffers():
            yield f"{prefix}{name}", buffer
        for inner, each in module.named_modules():
            before = f"{prefix}{inner}." if inner else prefix
            for name, value in vars(each).items():
                if not name.startswith("_"):
                    yield from self._named(f"{before}{name}", value)

    def _of_optimizer(
        self, name: str, optimizer: torch.optim.Optimizer
    ) -> Iterator[tuple[str, torch.Tensor]]:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for number, parameter in enumerate(parameters):
            state = optimizer.state.get(parameter, {})
            yield from self._named(f"{name}.state.{number}", state)
        for number, group in enumerate(optimizer.param_groups):
            settings = {key: value for key, value in group.items() if key != "params"}
            yield from self._named(f"{name}.param_groups.{number}", settings)


def _variables(function: Any) -> dict[str, Any]:
    """Variables of the surrounding functions and the module that a function names."""
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    names = (name for name in code.co_names if name in function.__globals__)
    found = {name: function.__globals__[name] for name in names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    return found


def _with_gradient(
    name: str, tensor: torch.Tensor
) -> Iterator[tuple[str, torch.Tensor]]:
    yield name, tensor
    if tensor.is_leaf and isinstance(tensor.grad, torch.Tensor):
        yield f"{name}.grad", tensor.grad
