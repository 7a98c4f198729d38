"""Bytes of weights and caches that one decoding step has to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_aten = torch.ops.aten
_LOOKUPS = {
    _aten.embedding.default,
    _aten.index_select.default,
    _aten.index.Tensor,
    _aten.gather.default,
}
"""Operators that read as much of their first argument as they return."""


class _Reads(TorchDispatchMode):
    """Counts what operators read of known tensors, each element once."""

    def __init__(self, known: set[int]):
        super().__init__()
        self.known, self.bytes = known, {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if not function.is_view and not _is_write(function):
            for leaf in tree_leaves((args, kwargs or {})):
                if isinstance(leaf, Tensor) and _place(leaf) in self.known:
                    read = result if function in _LOOKUPS else leaf
                    share = _share_of_experts(function, args, kwargs)
                    size = read.numel() * leaf.element_size()
                    self._count(leaf, round(size * share))
        return result

    def _count(self, tensor: Tensor, size: int) -> None:
        whole = tensor.untyped_storage().nbytes()
        place = _place(tensor)
        self.bytes[place] = min(whole, self.bytes.get(place, 0) + size)


def _share_of_experts(function, args: tuple, kwargs: dict | None) -> float:
    """How many of a grouped product's matrices some row is multiplied by."""
    if function is not _aten._grouped_mm.default:
        return 1.0
    ends = args[2] if len(args) > 2 else (kwargs or {}).get("offs")
    if ends is None:
        return 1.0
    return float((ends.diff(prepend=ends.new_zeros(1)) > 0).float().mean())


def _is_write(function) -> bool:
    """Whether an operator writes its first argument, as the write into a cache does."""
    arguments = function._schema.arguments
    info = arguments[0].alias_info if arguments else None
    return info is not None and info.is_write


def bytes_of_step(
    model: nn.Module, forward: Callable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[int, int]:
    """What an eager step reads of weights, and of caches.

    Experts that no token is sent to, rows of embeddings that no token needs and weights
    of an encoder are not read, so they do not count. A static cache counts whole.
    """
    weights = {_place(x) for x in [*model.parameters(), *model.buffers()]}
    caches = {_place(x) for x in tensors_of((args, kwargs)) if x.dim() > 2} - weights
    with torch.no_grad(), _Reads(weights | caches) as reads:
        forward(*args, **kwargs)
    of_weights = sum(n for place, n in reads.bytes.items() if place in weights)
    return of_weights, sum(reads.bytes.values()) - of_weights


def _place(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def tensors_of(value: Any, seen: set[int] | None = None) -> Iterator[Tensor]:
    """All tensors inside of containers and of objects' attributes."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors_of(part, seen)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_of(part, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type | nn.Module):
        yield from tensors_of(vars(value), seen)
