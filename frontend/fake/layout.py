"""Sizes after broadcasting, and the strides that eager gives to results.

Source: the strides of elementwise results follow ``TensorIteratorBase`` (ATen's
``TensorIterator.cpp``: ``reorder_dimensions`` and ``fast_set_up``).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


def contiguous_strides(size: Sequence) -> tuple:
    """Strides of a contiguous tensor."""
    strides, step = [1] * len(size), 1
    for dim in range(len(size) - 1, 0, -1):
        step = step * (1 if size[dim] == 0 else size[dim])
        strides[dim - 1] = step
    return tuple(strides)


def is_contiguous(tensor: torch.Tensor) -> bool:
    """``Tensor.is_contiguous`` from sizes and strides, without dispatch."""
    size, stride = tensor.size(), tensor.stride()
    step = 1
    # Products of symbolic sizes cost 50 us each, so none is made in vain.
    for dim in range(len(size) - 1, -1, -1):
        extent = size[dim]
        if extent == 0:
            return True
        if extent != 1:
            if stride[dim] != step:
                return 0 in size
            if dim:
                step = step * extent
    return True


def broadcast(sizes: Sequence[Sequence]) -> tuple | None:
    """The sizes that all these broadcast to, or None where they do not."""
    result = list(max(sizes, key=len, default=()))
    for size in sizes:
        for axis in range(-len(size), 0):
            extent = size[axis]
            if extent is result[axis] or extent == 1 or extent == result[axis]:
                continue
            if result[axis] != 1:
                return None
            result[axis] = extent
    return tuple(result)


def elementwise_strides(
    tensors: Sequence[torch.Tensor], size: tuple, has_numbers: bool = False
) -> tuple | None:
    """Strides of an elementwise result, or None where it is contiguous.

    Args:
        tensors: What it is computed from.
        size: Of the result.
        has_numbers: Whether it is computed from a tensor without dims as well.
    """
    if has_any(size, 0) and (has_numbers or any(t.size() != size for t in tensors)):
        return _strides_of_nothing(tensors, size)
    # Where operands broadcast, ATen orders the dims by strides, and those of dims of
    # one element may say anything.
    is_plain = not has_any(size, 1) or all(t.size() == size for t in tensors)
    if is_plain and all(is_contiguous(tensor) for tensor in tensors):
        return None
    shaped = [tensor for tensor in tensors if tensor.dim()]
    first = shaped[0]
    if all(t.size() == size and t.stride() == first.stride() for t in shaped):
        if _is_dense(first):
            return tuple(first.stride())
    return _permuted_strides(size, _loop_order(shaped, size))


def _strides_of_nothing(tensors: Sequence[torch.Tensor], size: tuple) -> tuple | None:
    """Strides of an empty result whose operands are not all of its size.

    Where they are, TensorIterator sees that all are contiguous, as what is empty is.
    Here it orders its loops, and a size of 0 makes all later strides 0.
    """
    order = _loop_order([tensor for tensor in tensors if tensor.dim()], size)
    if order == list(reversed(range(len(size)))):
        return None
    strides, step = [0] * len(size), 1
    for dim in order:
        strides[dim] = step
        step = step * size[dim]
    return tuple(strides)


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their storage without gap or overlap."""
    step = 1
    pairs = [
        (s, n) for n, s in zip(tensor.size(), tensor.stride(), strict=True) if n != 1
    ]
    if any(extent == 0 for _, extent in pairs):
        return True
    for stride, extent in sorted(pairs, key=lambda pair: pair[0]):
        if stride != step:
            return False
        step = step * extent
    return True


def _expanded_strides(tensor: torch.Tensor, size: tuple) -> list:
    missing = len(size) - tensor.dim()
    strides = [
        0 if own == 1 and full != 1 else stride
        for own, stride, full in zip(
            tensor.size(), tensor.stride(), size[missing:], strict=True
        )
    ]
    return [0] * missing + strides


def _loop_order(tensors: Sequence[torch.Tensor], size: tuple) -> list[int]:
    """Dims from innermost to outermost, as TensorIterator orders its loops."""
    strides = [_expanded_strides(tensor, size) for tensor in tensors]
    order = list(reversed(range(len(size))))

    def compare(dim0: int, dim1: int) -> int:
        for stride in strides:
            if stride[dim0] == 0 or stride[dim1] == 0:
                continue
            if stride[dim0] != stride[dim1]:
                return -1 if stride[dim0] < stride[dim1] else 1
            if size[dim0] > size[dim1]:
                return 1
        return 0

    # Insertion sort with ambiguous pairs left alone, exactly as ATen does it: the
    # relation is no total order, so that another algorithm gives another result.
    for i in range(1, len(order)):
        place = i
        for j in range(i - 1, -1, -1):
            comparison = compare(order[j], order[place])
            if comparison > 0:
                order[j], order[place] = order[place], order[j]
                place = j
            elif comparison < 0:
                break
    return order


def _permuted_strides(size: tuple, order: list[int]) -> tuple:
    strides, step = [0] * len(size), 1
    for dim in order:
        strides[dim] = step
        step = step * (1 if size[dim] == 0 else size[dim])
    return tuple(strides)


def preserved_strides(tensor: torch.Tensor) -> tuple | None:
    """Strides of a copy with ``torch.preserve_format``, None where contiguous.

    Those of dims with one element are kept, too.
    """
    if _is_dense(tensor):
        if is_contiguous(tensor) and not has_any(tensor.size(), 0, 1):
            return None
        return tuple(tensor.stride())
    return elementwise_strides([tensor], tuple(tensor.size()))


def suggested_strides(tensor: torch.Tensor, size: tuple) -> tuple | None:
    """Strides of a result with the memory format of a batch of images.

    Channels innermost where ``tensor`` has them so, else None (contiguous).
    """
    if not _has_channels_innermost(tensor):
        return None
    return _permuted_strides(size, _channels_first(len(size)))


def is_row_by_row(images: torch.Tensor) -> bool:
    """Whether ATen takes a contiguous batch of images for one: see the memory format.

    One channel, or one pixel, may lie with channels innermost as well.
    """
    return is_contiguous(images) and not _has_channels_innermost(images)


def split_strides(size: Sequence, stride: Sequence, target: Sequence) -> tuple:
    """Strides of a view that splits dims, also of dims of one element.

    Source: ``computeStride_impl`` in ATen's TensorUtils.cpp
    """
    strides, dim, count = [0] * len(target), len(target), 1
    step, whole = stride[-1], 1
    for outer in reversed(range(len(size))):
        whole = whole * size[outer]
        is_last = outer == 0
        if not is_last and (size[outer - 1] == 1 or stride[outer - 1] == whole * step):
            continue  # the next dim goes on where these end
        while dim and (target[dim - 1] == 1 or count != whole):
            dim -= 1
            strides[dim] = count * step
            count = count * target[dim]
        if not is_last:
            step, whole, count = stride[outer - 1], 1, 1
    return tuple(strides)


def _channels_first(rank: int) -> list[int]:
    """Dims from the innermost on: channels, then those of images from the last one."""
    return [1, *reversed(range(2, rank)), 0]


def _has_channels_innermost(tensor: torch.Tensor) -> bool:
    """What ``Tensor::suggest_memory_format`` finds: gaps between elements don't count.

    Source: ``is_channels_last_strides_2d_s4`` in c10/core/MemoryFormat.h
    """
    size, stride = tensor.size(), tensor.stride()
    if len(size) not in (4, 5) or _is_row_by_row(tensor) or stride[1] == 0:
        return False
    least = 0
    for dim in _channels_first(len(size)):
        if size[dim] == 0 or stride[dim] < least:
            return False
        if dim == 0 and least == stride[1]:
            return False  # one pixel, of one channel or row by row
        least = stride[dim] * size[dim] if size[dim] > 1 else stride[dim]
    return True


def _is_row_by_row(images: torch.Tensor) -> bool:
    """Whether images are so for certain, which is quick to know with symbolic sizes."""
    _, channels, *window = images.size()
    single = isinstance(channels, int) and channels == 1
    is_pixel = all(isinstance(extent, int) and extent == 1 for extent in window)
    return not single and not is_pixel and is_contiguous(images)


def has_any(size: Sequence, *extents: int) -> bool:
    """Whether there are such sizes; symbolic ones are greater than 1."""
    return any(isinstance(extent, int) and extent in extents for extent in size)


def wrap_dims(dims: object, rank: int) -> list[int] | None:
    """Dims as a sorted list of indices from 0; None where one is out of range."""
    if dims is None:
        return list(range(rank))
    if isinstance(dims, int):
        dims = [dims]
    if len(dims) == 0:
        return list(range(rank))
    limit = max(rank, 1)
    if any(not -limit <= dim < limit for dim in dims):
        return None
    wrapped = sorted({dim % limit for dim in dims})
    return wrapped if len(wrapped) == len(dims) else None
