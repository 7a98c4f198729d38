"""Layouts: where the elements of a tensor lie, and which views of it need no copy.

Sizes, strides and offsets are ints or dim expressions and count elements. Rules follow
ATen's, so that a view aliases exactly where it would in eager.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from girih.dialects.dims import Size, product
from girih.dialects.types import contiguous_strides


@dataclass(frozen=True)
class Layout:
    """Sizes and strides of a tensor, and its offset from its storage's owner."""

    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie densely in row-major order."""
        return same_strides(self.shape, self.strides, contiguous_strides(self.shape))


def contiguous(shape: Sequence[Size]) -> Layout:
    """The row-major layout of a fresh tensor."""
    return Layout(tuple(shape), contiguous_strides(shape))


def same_strides(
    shape: Sequence[Size], lhs: Sequence[Size], rhs: Sequence[Size]
) -> bool:
    """Whether two strides address the same elements; dims of size 1 do not count."""
    if is_empty(shape):
        return True
    return all(
        size == 1 or here == there
        for size, here, there in zip(shape, lhs, rhs, strict=True)
    )


def is_empty(shape: Sequence[Size]) -> bool:
    """Whether the tensor is known to have no elements."""
    return any(size == 0 for size in shape if isinstance(size, int))


def repeats(shape: Sequence[Size], strides: Sequence[Size]) -> bool:
    """Whether several indices may have one place in memory because a stride is 0."""
    dims = zip(shape, strides, strict=True)
    return not is_empty(shape) and any(s == 0 and size != 1 for size, s in dims)


def are_apart(whole: Layout, first: Layout, second: Layout) -> bool:
    """Whether two layouts are parts of a third one that share no element.

    Known of parts along one dim of what has no element twice, of sizes that are known.
    """
    parts = _part_along_dim(whole, first), _part_along_dim(whole, second)
    if None in parts:
        return False
    (dim, start, length), (other, next_start, _) = sorted(parts)
    return dim == other and start + length <= next_start


def _part_along_dim(whole: Layout, part: Layout) -> tuple[int, int, int] | None:
    """The dim along which a layout is a part of another one; from where, how much.

    The part may lack that dim, if it is one index of it.
    """
    for dim, (size, stride) in enumerate(zip(whole.shape, whole.strides, strict=True)):
        rest = [n for n in range(len(whole.shape)) if n != dim]
        kept = [(whole.shape[n], whole.strides[n]) for n in rest]
        own = list(zip(part.shape, part.strides, strict=True))
        length: Size = 1
        if len(own) == len(whole.shape):
            length, own_stride = own.pop(dim)
            if own_stride != stride:
                continue
        if own != kept:
            continue
        numbers = (size, stride, length, part.offset, whole.offset)
        if not all(isinstance(n, int) for n in numbers) or stride == 0:
            continue
        start, left = divmod(part.offset - whole.offset, stride)
        if left == 0 and 0 <= start <= start + length <= size:
            return dim, start, length
    return None


def overlaps(layout: Layout) -> bool:
    """Whether two elements may be one in memory.

    Of symbolic layouts only where a stride is 0: eager makes no others by itself.
    """
    if layout.is_contiguous or is_empty(layout.shape):
        return False
    dims = zip(layout.strides, layout.shape, strict=True)
    kept = [(stride, size) for stride, size in dims if size != 1]
    if not all(isinstance(number, int) for dim in kept for number in dim):
        return any(stride == 0 for stride, _ in kept)
    reach = 0
    for stride, size in sorted(kept):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def permute(layout: Layout, permutation: Sequence[int]) -> Layout:
    """Result dim i is operand dim `permutation[i]`."""
    return replace(
        layout,
        shape=tuple(layout.shape[dim] for dim in permutation),
        strides=tuple(layout.strides[dim] for dim in permutation),
    )


def broadcast_to(layout: Layout, shape: Sequence[Size]) -> Layout:
    """Right-aligned; new dims and stretched dims of size 1 get stride 0."""
    added = len(shape) - len(layout.shape)
    kept = zip(layout.shape, layout.strides, shape[added:], strict=True)
    strides = [stride if size == wanted else 0 for size, stride, wanted in kept]
    return replace(layout, shape=tuple(shape), strides=(0,) * added + tuple(strides))


def slice_(
    layout: Layout, starts: Sequence[Size], steps: Sequence[int], shape: Sequence[Size]
) -> Layout:
    """Every `steps[d]`-th element from `starts[d]` on."""
    offset = layout.offset
    for start, stride in zip(starts, layout.strides, strict=True):
        offset = offset + start * stride
    strides = tuple(s * step for s, step in zip(layout.strides, steps, strict=True))
    return Layout(tuple(shape), strides, offset)


def window(layout: Layout, dim: int, step: Size, shape: Sequence[Size]) -> Layout:
    """Windows along a dim, which may overlap: their elements are a last dim."""
    stride = layout.strides[dim]
    strides = (*layout.strides[:dim], stride * step, *layout.strides[dim + 1 :], stride)
    return replace(layout, shape=tuple(shape), strides=strides)


def element(layout: Layout, index: int) -> Layout:
    """One element of a layout of rank 1, as a layout of rank 0."""
    (stride,) = layout.strides
    return Layout((), (), layout.offset + index * stride)


def reshape(layout: Layout, shape: Sequence[Size]) -> Layout | None:
    """The layout under another shape of as many elements, None if it takes a copy.

    Walks both shapes from the innermost dim. A chunk is a maximal run of operand dims
    that lie densely one after another; it has to be filled exactly by result dims.

    Source: at::detail::computeStride in ATen/TensorUtils.cpp
    """
    shape = tuple(shape)
    if is_empty(shape):
        return replace(layout, shape=shape, strides=contiguous_strides(shape))
    strides: list[Size] = []
    remaining = list(shape)
    for elements, stride in _dense_chunks(layout):
        filled: Size = 1
        while remaining and (filled != elements or remaining[-1] == 1):
            strides.append(filled * stride)
            filled = filled * remaining.pop()
        if filled != elements:
            return None
    if remaining:
        return None  # sizes that are 1, as guards say, and are not written so
    return replace(layout, shape=shape, strides=tuple(reversed(strides)))


def _dense_chunks(layout: Layout) -> list[tuple[Size, Size]]:
    """(elements, innermost stride) of the dense runs of dims, innermost first."""
    dims = [
        (size, stride)
        for size, stride in zip(layout.shape, layout.strides, strict=True)
        if size != 1
    ]
    chunks: list[tuple[Size, Size]] = []
    for size, stride in reversed(dims):
        if chunks and stride == chunks[-1][0] * chunks[-1][1]:
            chunks[-1] = (chunks[-1][0] * size, chunks[-1][1])
        else:
            chunks.append((size, stride))
    return chunks or [(1, 1)]


def dense_like(shape: Sequence[Size], strides: Sequence[Size]) -> Layout | None:
    """The dense layout whose dims are ordered as these strides, None if they overlap.

    Dims are compared by their strides where all are numbers; a tensor with symbolic
    strides keeps row-major order.
    """
    if not all(isinstance(stride, int) for stride in strides) or is_empty(shape):
        return contiguous(shape)
    order = sorted(range(len(shape)), key=lambda dim: (-strides[dim], dim))
    if any(strides[dim] == 0 and shape[dim] != 1 for dim in order):
        return None
    inner = contiguous_strides([shape[dim] for dim in order])
    by_dim = dict(zip(order, inner, strict=True))
    return Layout(tuple(shape), tuple(by_dim[dim] for dim in range(len(shape))))


def elements(layout: Layout) -> Size:
    """The number of elements from the first to the last that the layout addresses."""
    if is_empty(layout.shape):
        return 0
    span: Size = 1
    for size, stride in zip(layout.shape, layout.strides, strict=True):
        span = span + (size - 1) * stride
    return span


def is_dense(layout: Layout) -> bool:
    """Whether the layout addresses as many elements as it spans."""
    return elements(layout) == product(layout.shape)
