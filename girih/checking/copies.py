"""Inputs of a graph again, in memory of their own, shared as the originals share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Change = Callable[[torch.Tensor], torch.Tensor]
"""From all elements of a storage, a tensor with one dim, to as many others."""


class NotCopied(Exception):
    """An input is of a kind that a graph can't be checked with; says which."""


def unchanged(elements: torch.Tensor) -> torch.Tensor:
    """The elements themselves, in other memory."""
    return elements.clone()


def copied(inputs: Sequence[Any], change: Change = unchanged) -> list[Any]:
    """Copies of a graph's inputs; what is no tensor stands as it is.

    A copy has the sizes, strides and offset of its original, its storage as many
    elements, and tensors that share a storage do so again. It requires a gradient
    where its original does, and is a leaf of autograd where that is one.

    Args:
        inputs: What the graph is called with.
        change: Makes the elements of the copies, which may have another dtype.

    Raises:
        NotCopied: An input is no plain tensor.
    """
    storages: dict[tuple, torch.Tensor] = {}
    return [
        _copy(value, storages, change) if isinstance(value, torch.Tensor) else value
        for value in inputs
    ]


def _copy(tensor: torch.Tensor, storages: dict, change: Change) -> torch.Tensor:
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise NotCopied(f"an input is a {type(tensor).__name__}")
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise NotCopied(f"an input is laid out as {tensor.layout}")
    if tensor.is_conj() or tensor.is_neg():
        raise NotCopied("an input is conjugated or negated lazily")
    with torch.no_grad():
        elements = _elements(tensor, storages, change)
        # A view would be what autograd calls one: in-place writes treat it otherwise.
        copy = elements.as_strided(
            tensor.shape, tensor.stride(), tensor.storage_offset()
        ).data
    if not tensor.requires_grad:
        return copy
    leaf = copy.requires_grad_()
    return leaf if tensor.is_leaf else _NoLeaf.apply(leaf)


def _elements(tensor: torch.Tensor, storages: dict, change: Change) -> torch.Tensor:
    """The copied storage of a tensor, made once for all of one dtype."""
    storage = tensor.untyped_storage()
    key = (storage.data_ptr(), storage.nbytes(), tensor.device, tensor.dtype)
    if key not in storages:
        count = storage.nbytes() // tensor.element_size()
        whole = tensor.detach().as_strided((count,), (1,), 0)
        storages[key] = change(whole)
    return storages[key]


class _NoLeaf(torch.autograd.Function):
    """The same memory as what autograd takes for a result: it may be written."""

    @staticmethod
    def forward(ctx, leaf: torch.Tensor) -> torch.Tensor:
        return leaf.data

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        return gradient
