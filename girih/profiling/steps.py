"""One call of a function, as it is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves


class Step:
    """A call of a function, and of the backward pass of what it returns.

    As after ``zero_grad()``, leaf tensors have no gradients when a call begins. Those
    that they had before the first one are there again after `restore`.

    Attributes:
        result: What the last call returned.
    """

    def __init__(self, call: Callable[[], Any], *, backward: bool):
        self._call = call
        self._backward = backward
        self._gradients: dict[Tensor, Tensor | None] = {}
        self._cotangents: list[Tensor] = []
        self.result: Any = None

    def prepare(self) -> None:
        """Makes what is not part of a step: to be called before each one."""
        self.result = None
        for leaf in self._gradients:
            leaf.grad = None

    def first(self) -> None:
        """The first step; it finds the leaf tensors.

        Raises:
            ValueError: Nothing that the function returned requires a gradient, but its
                backward pass is wanted.
        """
        self.result = self._call()
        if not self._backward:
            return
        results = _differentiable(self.result)
        if not results:
            raise ValueError(
                "girih.profile(..., backward=True) expects a function that returns a "
                "tensor that requires a gradient; none of its results does"
            )
        self._gradients = {leaf: leaf.grad for leaf in _leaves(results)}
        for leaf in self._gradients:
            leaf.grad = None
        self._cotangents = [torch.ones_like(result) for result in results]
        torch.autograd.backward(results, self._cotangents)

    def __call__(self) -> None:
        """A later step."""
        self.result = self._call()
        if self._backward:
            results = _differentiable(self.result)
            torch.autograd.backward(results, self._cotangents)

    def restore(self) -> None:
        """Gives leaf tensors the gradients that they had."""
        for leaf, gradient in self._gradients.items():
            leaf.grad = gradient


def _differentiable(result: Any) -> list[Tensor]:
    leaves = tree_leaves(result)
    return [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]


def _leaves(results: Iterable[Tensor]) -> Iterator[Tensor]:
    """The leaf tensors that a backward pass gives gradients, each once."""
    found: set[int] = set()
    met: set[Any] = set()
    nodes = [torch.autograd.graph.get_gradient_edge(x).node for x in results]
    while nodes:
        node = nodes.pop()
        if node is None or node in met:
            continue
        met.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in found:
            found.add(id(leaf))
            yield leaf
        nodes += [following for following, _ in node.next_functions]
