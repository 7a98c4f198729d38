"""Inputs of recorded graphs: buffers for what is copied, and what overlaps what."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .addresses import SpansLike, span_of
from .recordable import Recordable


class Copies:
    """Buffers for the inputs that are copied.

    Args:
        inputs: of a call.
        positions: of those that are copied.
        spans: what copies memory, given the tensors.
    """

    def __init__(
        self,
        inputs: tuple,
        positions: tuple[int, ...],
        spans: Callable[[list[Tensor]], SpansLike],
    ):
        self._positions = positions
        with torch.inference_mode(False):  # else they can't be written outside of it
            self._buffers = [_buffer_like(inputs[i]) for i in positions]
        self._spans = spans(self._buffers) if positions else None

    def in_place_of(self, inputs: tuple) -> list:
        """The inputs, with buffers for those that are copied."""
        given = list(inputs)
        for position, buffer in zip(self._positions, self._buffers, strict=True):
            given[position] = buffer
        return given

    def fill(self, inputs: tuple) -> None:
        """Copies the inputs of a call."""
        if self._spans is not None:
            self._spans.copy(self._buffers, [inputs[i] for i in self._positions])


def _buffer_like(tensor: Tensor) -> Tensor:
    """Memory for all that lies between a tensor's first and its last element."""
    flat = torch.empty(span_of(tensor), dtype=tensor.dtype, device=tensor.device)
    return flat.as_strided(tensor.size(), tensor.stride())


def _range(tensor: Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    return start, start + span_of(tensor) * tensor.element_size()


class Ranges:
    """Memory of tensors, none of which overlap."""

    def __init__(self, tensors: Sequence[Tensor]):
        ranges = sorted(found for t in tensors if (found := _range(t))[0] < found[1])
        self._starts = [start for start, _ in ranges]
        self._ends = [end for _, end in ranges]

    def are_apart(self, inputs: tuple, positions: Sequence[int]) -> bool:
        """Whether these inputs share no memory with the tensors."""
        return not any(self._overlaps(*_range(inputs[i])) for i in positions)

    def _overlaps(self, start: int, end: int) -> bool:
        before = bisect_right(self._starts, end - 1) - 1
        return start < end and before >= 0 and self._ends[before] > start


def writes_are_apart(inputs: tuple, facts: Recordable) -> bool:
    """Whether no written input shares memory with another input."""
    tensors = {i: v for i, v in enumerate(inputs) if isinstance(v, Tensor)}
    ranges = sorted((*_range(v), i in facts.written) for i, v in tensors.items())
    end, written_end = 0, 0
    for start, stop, is_written in ranges:
        if start < stop and start < (end if is_written else written_end):
            return False
        end = max(end, stop)
        written_end = max(written_end, stop if is_written else 0)
    return True
