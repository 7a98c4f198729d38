"""Where tensors are, and who uses their memory: for recorded graphs.

`Pins`, `Loans` and `Spans` read the words of torch's objects, where they are found by
looking for known values in a few tensors; else they ask torch, for 50 ns a tensor
instead of 3.

Source: c10/core/TensorImpl.h, c10/core/StorageImpl.h, c10/util/intrusive_ptr.h,
torch/csrc/autograd/python_variable.h (torch 2.11-2.13).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Protocol

import torch

from . import _addresses

# Of an `intrusive_ptr_target`, the base of a StorageImpl: 32 bits after its table of
# virtual functions.
_REFERENCES = 8


class PinsLike(Protocol):
    """Places of inputs."""

    def hold(self, inputs: tuple) -> bool:
        """Whether all are where they were."""


class LoansLike(Protocol):
    """Memory that was given out."""

    def are_back(self) -> bool:
        """Whether nobody else has any of it."""

    def out(self) -> list[int]:
        """Numbers of the storages that somebody else has."""


def pins(inputs: tuple, positions: Sequence[int]) -> PinsLike:
    """The places of the inputs at these positions, which are tensors."""
    kind = _addresses.Pins if is_layout_known() else AskingPins
    return kind(inputs, tuple(positions))


def loans(storages: Sequence[tuple[int, int]]) -> LoansLike:
    """Watches storages, each given as its `_cdata` and the references that don't count.

    Whoever asks keeps them alive.
    """
    kind = _addresses.Loans if is_layout_known() else AskingLoans
    return kind(tuple(storages))


class SpansLike(Protocol):
    """Memory that is copied from tensors to tensors."""

    def copy(self, targets: list[torch.Tensor], sources: list[torch.Tensor]) -> None:
        """Copies each span, from the first element of a tensor on."""


MANY = 4
"""So many contiguous tensors are copied by one call: 15 us, against 5 for each."""


def span_of(tensor: torch.Tensor) -> int:
    """Elements from a tensor's first to its last one in memory."""
    if tensor.numel() == 0:
        return 0
    steps = zip(tensor.size(), tensor.stride(), strict=True)
    return 1 + sum((size - 1) * stride for size, stride in steps)


class TorchSpans:
    """`SpansLike` by calls of torch.

    Args:
        tensors: like those that are copied.

    Attributes:
        are_together: whether one call copies all.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]):
        self._counts = [span_of(tensor) for tensor in tensors]
        are_many = len(tensors) >= MANY
        self.are_together = are_many and all(t.is_contiguous() for t in tensors)

    def copy(self, targets: list[torch.Tensor], sources: list[torch.Tensor]) -> None:
        """Copies each span, from the first element of a tensor on."""
        if self.are_together:
            torch._foreach_copy_(targets, sources)
            return
        flat = [
            [t.as_strided((count,), (1,), t.storage_offset()) for t in pair]
            for *pair, count in zip(targets, sources, self._counts, strict=True)
        ]
        for target, source in flat:
            target.copy_(source)


class AskingPins:
    """`Pins` by calls of torch."""

    def __init__(self, inputs: tuple, positions: tuple[int, ...]):
        self._positions = positions
        self._places = [inputs[i].data_ptr() for i in positions]

    def hold(self, inputs: tuple) -> bool:
        """Whether all are where they were."""
        return [inputs[i].data_ptr() for i in self._positions] == self._places


class AskingLoans:
    """`Loans` by calls of torch."""

    def __init__(self, storages: tuple[tuple[int, int], ...]):
        self._storages = [(*item, _storage(item[0]).data_ptr()) for item in storages]

    def are_back(self) -> bool:
        """Whether nobody else has any of the memory."""
        return not self.out()

    def out(self) -> list[int]:
        """Numbers of the storages that somebody else has."""
        return [
            number
            for number, (address, references, data) in enumerate(self._storages)
            if torch._C._storage_Use_Count(address) != references
            or _storage(address).data_ptr() != data
        ]


def _storage(address: int) -> torch.UntypedStorage:
    return torch.UntypedStorage._new_with_weak_ptr(address)


def use_count(tensor: torch.Tensor) -> int:
    """How many references a tensor's storage has.

    Asking makes the storage's Python object, which in some versions of torch is one of
    them from then on: `own_count` says what to compare with.
    """
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


def own_count(tensors: int) -> int:
    """What `use_count` says of a storage that only so many tensors have."""
    return tensors + use_count(torch.empty(1)) - 1


@functools.cache
def is_layout_known() -> bool:
    """Whether the words are where they can be found; lets the C code rely on it."""
    with torch.inference_mode(False), torch.no_grad():
        found = _layout_of(torch.empty(64)[37:], torch.empty(64)[23:])
    if found is not None:
        _addresses.set_layout(torch.Tensor, *found)
    return found is not None


def _layout_of(*tensors: torch.Tensor) -> tuple[int, ...] | None:
    """Where the words lie, as those of all tensors say; None where any is not found."""
    found = [_word_offset(id, lambda t: t._cdata, tensors, 16, 40)]
    for place, wanted, first, last in (
        (lambda t: t._cdata, lambda t: t.untyped_storage()._cdata, 8, 64),
        (lambda t: t._cdata, lambda t: t.storage_offset(), 24, 192),
        (_storage_of, lambda t: t.untyped_storage().data_ptr(), 8, 64),
    ):
        found.append(_word_offset(place, wanted, tensors, first, last))
    if None in found or torch.Tensor.__basicsize__ < found[0] + 8:
        return None
    return (*found, _REFERENCES) if _counts_show(tensors[0]) else None


def _word_offset(place, wanted, tensors, first: int, last: int) -> int | None:
    """The first offset at which each tensor's object has the wanted word."""
    for offset in range(first, last, 8):
        if all(_word(place(t) + offset) == wanted(t) for t in tensors):
            return offset
    return None


def _counts_show(tensor: torch.Tensor) -> bool:
    """Whether the count is found, also as it grows and shrinks."""
    address = _storage_of(tensor)
    first = torch._C._storage_Use_Count(address)
    seen = [_count(address) == first]
    others = [tensor.detach() for _ in range(5)]
    seen.append(_count(address) == first + len(others))
    others.clear()
    return all([*seen, _count(address) == first])


def _storage_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _count(storage: int) -> int:
    return ctypes.c_uint32.from_address(storage + _REFERENCES).value
