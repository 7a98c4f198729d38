"""Inputs of recorded graphs: buffers for what is copied, and what overlaps what."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import torch
from torch import Tensor

from .recordable import Recordable

MANY = 3
"""From so many tensors on one call copies them all: about 8 us, against 4 for each."""


class Copies:
    """Buffers for the inputs that are copied."""

    def __init__(self, inputs: tuple, positions: tuple[int, ...]):
        self._plain: list[tuple[int, Tensor]] = []
        self._spans: list[tuple[int, int, Tensor]] = []
        self._shaped: dict[int, Tensor] = {}
        with torch.inference_mode(False):  # else they can't be written outside of it
            for position in positions:
                self._add(position, inputs[position])

    def _add(self, position: int, tensor: Tensor) -> None:
        span = _span(tensor)
        flat = torch.empty(span, dtype=tensor.dtype, device=tensor.device)
        shaped = flat.as_strided(tensor.size(), tensor.stride())
        self._shaped[position] = shaped
        if tensor.is_contiguous():
            self._plain.append((position, shaped))
        else:
            self._spans.append((position, span, flat))

    def in_place_of(self, inputs: tuple) -> list:
        """The inputs, with buffers for those that are copied."""
        return [self._shaped.get(i, value) for i, value in enumerate(inputs)]

    def fill(self, inputs: tuple) -> None:
        """Copies the inputs of a call."""
        for position, span, flat in self._spans:
            # All that lies between its first and its last element.
            start = inputs[position].storage_offset()
            flat.copy_(inputs[position].as_strided((span,), (1,), start))
        if len(self._plain) < MANY:
            for position, buffer in self._plain:
                buffer.copy_(inputs[position])
        else:
            buffers = [buffer for _, buffer in self._plain]
            torch._foreach_copy_(buffers, [inputs[i] for i, _ in self._plain])


def _span(tensor: Tensor) -> int:
    """Elements from a tensor's first to its last one in memory."""
    if tensor.numel() == 0:
        return 0
    steps = zip(tensor.size(), tensor.stride(), strict=True)
    return 1 + sum((size - 1) * stride for size, stride in steps)


def _range(tensor: Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    return start, start + _span(tensor) * tensor.element_size()


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
