"""The derivative that ATen itself defines, of one call of an ATen op.

The call is made again with autograd watching, and torch is asked for the gradients. The
derivative of such a derivative is a call of `vjp` with its own name, so there are
derivatives of any order of whatever ATen can derive that often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from . import torch_entry

NAME = "girih.vjp.default"


def vjp(
    name: str,
    args: Sequence[Any],
    keywords: Sequence[str],
    values: Sequence[Any],
    wanted: Sequence[int],
    cotangents: Sequence[Tensor | None],
) -> list[Tensor]:
    """Gradients of the call `name(*args, **keywords)`.

    Args:
        name: the op, such as "aten.cumprod.default".
        args: its arguments; tensors may stand in lists.
        keywords: names of its keyword arguments.
        values: the arguments of these names.
        wanted: which tensors to derive by: numbers in the order in which tensors are
            met in `args` and then in `values`.
        cotangents: for each tensor that the op returns one, or None.

    Returns:
        A gradient for each wanted tensor, zeros where the results don't depend on it.
    """
    if torch.is_autocast_enabled("cpu"):  # the call was recorded behind autocast
        with torch.autocast("cpu", enabled=False):
            return vjp(name, args, keywords, values, wanted, cotangents)
    tensors = _tensors((args, values, cotangents))
    watched = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    inputs = _Inputs(frozenset(wanted), watched)
    args = inputs.replaced(args)
    named = dict(zip(keywords, inputs.replaced(values), strict=True))
    with torch.enable_grad():
        returned = _callable(name)(*args, **named)
        results = torch_entry.flatten_tensors(returned)
        return _gradients(results, cotangents, inputs.leaves, watched)


torch_entry.OWN[NAME] = vjp


def _callable(name: str) -> Callable:
    return torch_entry.OWN.get(name) or torch_entry.overload(name)


def _tensors(item: Any) -> Iterator[Tensor]:
    if isinstance(item, Tensor):
        yield item
    elif isinstance(item, (list, tuple)):
        for each in item:
            yield from _tensors(each)


class _Inputs:
    """Arguments whose tensors autograd watches from here on.

    Attributes:
        leaves: The wanted tensors, in order, each occurrence by itself.
    """

    def __init__(self, wanted: frozenset[int], watched: bool):
        """Args: which tensors; whether derivatives go through what is computed."""
        self.leaves: list[Tensor] = []
        self._wanted = wanted
        self._watched = watched
        self._met = 0

    def replaced(self, item: Any) -> Any:
        """The item with other tensors in it."""
        if isinstance(item, Tensor):
            return self._replaced_tensor(item)
        if isinstance(item, (list, tuple)):
            return [self.replaced(each) for each in item]
        return item

    def _replaced_tensor(self, tensor: Tensor) -> Tensor:
        is_wanted = self._met in self._wanted
        self._met += 1
        if not is_wanted:
            return tensor if self._watched else tensor.detach()
        if self._watched and tensor.requires_grad:
            leaf = tensor.view_as(tensor)
        else:
            leaf = tensor.detach().requires_grad_()
        self.leaves.append(leaf)
        return leaf


def _gradients(
    results: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    leaves: Sequence[Tensor],
    watched: bool,
) -> list[Tensor]:
    # Some return one more when watched: what their derivative needs, of no type that
    # has derivatives.
    pairs = [
        (result, cotangent)
        for result, cotangent in zip(results, cotangents, strict=False)
        if cotangent is not None and result.requires_grad
    ]
    if not pairs:
        return [torch.zeros_like(leaf) for leaf in leaves]
    outputs, given = zip(*pairs, strict=True)
    found = torch.autograd.grad(
        outputs,
        leaves,
        given,
        create_graph=watched,
        allow_unused=True,
        materialize_grads=True,
    )
    return [_plain(gradient) for gradient in found]


def _plain(gradient: Tensor) -> Tensor:
    """A gradient with its values in memory, where programs read them.

    Autograd gives a tensor without memory where a derivative is zero everywhere, as
    that of a sign is, and conjugates lazily.
    """
    if gradient._is_zerotensor():
        return torch.zeros_like(gradient)
    return gradient.resolve_conj().resolve_neg()
