"""``as_strided`` of a tensor that may begin anywhere in its storage.

ATen's ops count the offset from the start of the storage. What stands for a tensor in a
program may lie elsewhere than eager's does: a copy that nothing tells from its original
is a view of that. So offsets are counted from the tensor's own first element here.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from . import torch_entry

COPY = "girih.as_strided_copy.default"
SCATTER = "girih.as_strided_scatter.default"


def as_strided_copy(
    base: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    offset: int,
    is_whole: bool,
) -> list[Tensor]:
    """A copy of elements of ``base``.

    Args:
        base: a contiguous tensor.
        size: how many elements along each dim.
        stride: how far apart they are.
        offset: of the first one, from the first of ``base``.
        is_whole: whether nothing of eager's storage lies outside of ``base``.

    Raises:
        RuntimeError: an element lies outside.
    """
    if is_whole:
        _check_inside(base, size, stride, offset)
    start = base.storage_offset() + offset
    copy = torch.clone(
        base.as_strided(size, stride, start), memory_format=torch.contiguous_format
    )
    return [copy]


def as_strided_scatter(
    base: Tensor,
    new: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    offset: int,
    is_whole: bool,
) -> list[Tensor]:
    """``base`` with elements replaced by those of ``new``; see ``as_strided_copy``."""
    _check_inside(base, size, stride, offset)
    copy = torch.clone(base, memory_format=torch.contiguous_format)
    copy.as_strided(size, stride, offset).copy_(new)
    return [copy]


def _check_inside(
    base: Tensor, size: Sequence[int], stride: Sequence[int], offset: int
) -> None:
    """Raises what eager says where the storage is too small."""
    if 0 in size:
        return
    steps = zip(size, stride, strict=True)
    needed = offset + 1 + sum((count - 1) * step for count, step in steps)
    if needed > base.numel():
        width = base.element_size()
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
            f"{offset}, and itemsize {width} requiring a storage size of "
            f"{needed * width} are out of bounds for storage of size "
            f"{base.numel() * width}"
        )


torch_entry.OWN[COPY] = as_strided_copy
torch_entry.OWN[SCATTER] = as_strided_scatter
