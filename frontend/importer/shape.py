"""Import rules of ops that rearrange elements into new memory."""

from __future__ import annotations

import torch

from girih.dialects.dims import Dim, product
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.registry import imports, takes_negative


@imports("cat")
def cat(b: Builder, tensors, dim=0):
    """Tensors one after the other; empty vectors do not count."""
    spec = b.out[0]
    rank = len(spec.shape)
    parts = [b.cast(x, spec.dtype) for x in tensors if x.rank == rank]
    dim %= max(rank, 1)
    kept = [x for x in parts if isinstance(x.shape[dim], Dim) or x.shape[dim]]
    return b.concat(kept, dim) if kept else parts[0]


@imports("stack")
def stack(b: Builder, tensors, dim=0):
    """Tensors one after the other along a new dim."""
    spec = b.out[0]
    dim %= len(spec.shape)
    single = (*spec.shape[:dim], 1, *spec.shape[dim + 1 :])
    return b.concat([b.reshape(b.cast(x, spec.dtype), single) for x in tensors], dim)


@imports("unsafe_split.Tensor", "unsafe_split_with_sizes")
def unsafe_split(b: Builder, self, sizes, dim=0):
    """Pieces along a dim, which nothing else refers to."""
    dim %= max(self.rank, 1)
    pieces, start = [], 0
    for spec in b.out:
        pieces.append(b.slice(self, dim, start, spec.shape[dim]))
        start = start + spec.shape[dim]
    return pieces


@imports("repeat")
def repeat(b: Builder, self, repeats):
    """A tensor repeated along its dims."""
    padded = (1,) * (len(repeats) - self.rank) + self.shape
    single, full = [], []
    for size, count in zip(padded, repeats, strict=True):
        single += [1, size]
        full += [count, size]
    spread = b.broadcast_to(b.reshape(self, tuple(single)), tuple(full))
    return b.reshape(spread, b.out[0].shape)


@imports("flip")
def flip(b: Builder, self, dims):
    """A tensor backwards along dims."""
    return b.flip(
        self, sorted(dim % max(self.rank, 1) for dim in dims) if self.rank else []
    )


@imports("roll")
def roll(b: Builder, self, shifts, dims=()):
    """Elements moved along dims, those at the end to the front."""
    if any(isinstance(shift, Dim) for shift in shifts):
        return NotImplemented
    if not dims:
        flat = b.reshape(self, (product(self.shape),))
        return b.reshape(_roll(b, flat, shifts[0], 0), self.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        self = _roll(b, self, shift, dim % max(self.rank, 1))
    return self


def _roll(b: Builder, x: Operand, shift: int, dim: int) -> Operand:
    size = x.shape[dim]
    if size == 0:
        return x
    cut = size - shift % size if isinstance(size, int) else (size - shift) % size
    tail = b.slice(x, dim, cut, size - cut)
    head = b.slice(x, dim, 0, cut)
    return b.concat([part for part in (tail, head) if part.shape[dim] != 0], dim)


@imports("constant_pad_nd")
@takes_negative
def constant_pad(b: Builder, self, pad, value=0):
    """Padding with a number; negative padding cuts off."""
    low, high = [0] * self.rank, [0] * self.rank
    for position in range(len(pad) // 2):
        dim = self.rank - 1 - position
        before, after = pad[2 * position], pad[2 * position + 1]
        self, low[dim], high[dim] = _cut(b, self, dim, before, after)
    if low == high == [0] * self.rank:
        return self
    return b.pad(self, low, high, value)


def _cut(b: Builder, x: Operand, dim: int, before, after):
    """Cuts off where padding is negative; returns the padding that is left."""
    start = before * -1 if b.is_negative(before) else 0
    end = after * -1 if b.is_negative(after) else 0
    x = b.slice(x, dim, start, x.shape[dim] - start - end)
    return x, before + start, after + end


@imports("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(b: Builder, self, groups):
    """Channels of several groups in turn."""
    images, channels, *sizes = self.shape
    if isinstance(channels, Dim) or isinstance(groups, Dim):
        return NotImplemented
    if groups < 1 or channels % groups:
        return NotImplemented  # which eager refuses
    split = (images, groups, channels // groups, *sizes)
    order = (0, 2, 1, *range(3, len(split)))
    return b.reshape(b.permute(b.reshape(self, split), order), self.shape)


@imports("pixel_shuffle")
def pixel_shuffle(b: Builder, self, upscale_factor):
    """Channels spread over space."""
    *batch, channels, height, width = self.shape
    r = upscale_factor
    rank = len(batch)
    split = b.reshape(self, (*batch, channels // (r * r), r, r, height, width))
    order = [*range(rank), *(rank + i for i in (0, 3, 1, 4, 2))]
    return b.reshape(b.permute(split, order), b.out[0].shape)


@imports("pixel_unshuffle")
def pixel_unshuffle(b: Builder, self, downscale_factor):
    """Space gathered into channels."""
    *batch, channels, height, width = self.shape
    r = downscale_factor
    rank = len(batch)
    split = b.reshape(self, (*batch, channels, height // r, r, width // r, r))
    order = [*range(rank), *(rank + i for i in (0, 2, 4, 1, 3))]
    return b.reshape(b.permute(split, order), b.out[0].shape)


@imports("rot90")
def rot90(b: Builder, self, k=1, dims=(0, 1)):
    """Quarter turns from the first of two dims to the second."""
    first, second = (dim % self.rank for dim in dims)
    flipped = {0: [], 1: [second], 2: sorted((first, second)), 3: [first]}[k % 4]
    order = list(range(self.rank))
    if k % 2:
        order[first], order[second] = second, first
    return b.permute(b.flip(self, flipped), order)


@imports("diag_embed")
def diag_embed(b: Builder, self, offset=0, dim1=-2, dim2=-1):
    """The last dim as a diagonal of two new ones, zeros beside it."""
    rank = self.rank + 1
    rows, columns = dim1 % rank, dim2 % rank
    low, high = [0] * self.rank, [0] * self.rank
    low[-1], high[-1] = max(-offset, 0), max(offset, 0)
    column = b.pad(self, low, high, 0) if offset else self
    size = column.shape[-1]
    row = b.iota_along((size, size), 0)
    shift = b.constant(offset, torch.int64)
    hit = b.compare("eq", b.iota(size, torch.int64), b.add(row, shift))
    zero = b.constant(0, self.dtype)
    table = b.where(hit, b.reshape(column, (*column.shape, 1)), zero)
    rest = iter(range(rank - 2))
    places = {rows: rank - 2, columns: rank - 1}
    order = [places[d] if d in places else next(rest) for d in range(rank)]
    return b.permute(table, order)


@imports("trace")
def trace(b: Builder, self):
    """The sum of a diagonal."""
    rows, columns = self.shape
    if isinstance(rows, Dim) or isinstance(columns, Dim):
        return NotImplemented
    flat = b.reshape(b.cast(self, b.out[0].dtype), (rows * columns,))
    diagonal = b.slice(flat, 0, 0, min(rows, columns), columns + 1)
    return b.reshape(b.reduce("reduce_sum", diagonal, [0]), ())


# Views written as new tensors (the inverse of views, for writes).


@imports("slice_scatter")
def slice_scatter(b: Builder, self, src, dim=0, start=None, end=None, step=1):
    """self with a slice replaced."""
    from girih.frontend.importer.views import clamp_index, slice_step

    dim %= self.rank
    src = b.cast(src, self.dtype)
    first = clamp_index(b, start, self.shape[dim], 0)
    return slice_step(b, dim, first, src.shape[dim], step).inverse(self, src)


@imports("select_scatter")
def select_scatter(b: Builder, self, src, dim, index):
    """self with one entry of a dim replaced."""
    from girih.frontend.importer.views import slice_step

    dim %= self.rank
    if isinstance(index, int) and index < 0:
        index = self.shape[dim] + index
    single = (*self.shape[:dim], 1, *self.shape[dim + 1 :])
    src = b.reshape(b.cast(src, self.dtype), single)
    return slice_step(b, dim, index, 1, 1).inverse(self, src)
