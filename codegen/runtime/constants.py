"""What depends on weights alone, kept from call to call while they do not change.

A weight is what it was if it is the same tensor, with its elements at the same address
and of the same version: that counts the writes that autograd knows, of in-place ops,
optimizers, ``load_state_dict``. Batch norms in training write their statistics without
counting; so the elements of small tensors are compared, too. Other writes that count
nowhere, through ``p.data`` or NumPy, are not seen in large tensors.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from . import _addresses

SMALL_BYTES = 1 << 14
"""Tensors of at most so many bytes are compared at each call: those of batch norms. All
53 of a ResNet-50 have 425 KB, which takes 20 us."""


class _Weight(NamedTuple):
    """A tensor as it was when constants were computed.

    Attributes:
        place: Its number among the arguments.
        tensor: It.
        version: How often it had been written.
        address: Where its elements were.
    """

    place: int
    tensor: torch.Tensor
    version: int
    address: int


class _Kept(NamedTuple):
    """Constants, and the weights that they are of.

    Attributes:
        weights: The weights. They live on, so that no other tensor can come to lie at
            their addresses.
        storages: Their memory, likewise.
        places: Where the elements of the small ones are: addresses and bytes.
        content: These elements.
        values: The constants.
    """

    weights: tuple[_Weight, ...]
    storages: tuple[torch.UntypedStorage, ...]
    places: bytes
    content: bytes
    values: tuple[Any, ...]

    def holds(self, arguments: Sequence[Any]) -> bool:
        """Whether the weights among these arguments are as they were."""
        for place, tensor, version, address in self.weights:
            weight = arguments[place]
            if weight is not tensor or weight._version != version:
                return False
            if weight.data_ptr() != address:
                return False
        return _addresses.same_bytes(self.places, self.content)


class WithConstants:
    """A program whose last arguments are computed from weights, and kept.

    Args:
        program: Takes the arguments of the graph, then the constants.
        compute: Takes the weights, and returns the constants.
        places: The numbers of the weights among the arguments.
    """

    def __init__(self, program: Callable, compute: Callable, places: Sequence[int]):
        self._program = program
        self._compute = compute
        self._places = tuple(places)
        self._kept: _Kept | None = None

    def __call__(self, *arguments):
        """Runs the program on the arguments of the graph."""
        kept = self._kept  # other threads may replace it
        if kept is not None and kept.holds(arguments):
            return self._program(*arguments, *kept.values)
        return self._program(*arguments, *self._made(arguments))

    def _made(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The constants of these weights, which are kept if that is safe."""
        weights = [arguments[place] for place in self._places]
        self._kept = None  # before there are two
        if any(weight.is_inference() for weight in weights):  # they have no versions
            return self._compute(*weights)
        known = tuple(
            _Weight(place, weight, weight._version, weight.data_ptr())
            for place, weight in zip(self._places, weights, strict=True)
        )
        storages = tuple(weight.untyped_storage() for weight in weights)
        small = [weight for weight in weights if _is_small(weight)]
        spans = [(weight.data_ptr(), weight.nbytes) for weight in small]
        places = b"".join(struct.pack("=QQ", *span) for span in spans)
        # Before they are used: a write of another thread meanwhile will be seen.
        content = b"".join(ctypes.string_at(*span) for span in spans)
        values = self._compute(*weights)
        self._kept = _Kept(known, storages, places, content, values)
        return values


def _is_small(weight: torch.Tensor) -> bool:
    """Whether a tensor is compared element by element."""
    return 0 < weight.nbytes <= SMALL_BYTES and weight.is_contiguous()
