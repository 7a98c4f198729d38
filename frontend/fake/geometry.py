"""Views of tensors with symbolic sizes: sizes, strides and offset of the result.

C++ computes views of static tensors; where sizes are symbolic torch has Python
kernels for them, which take milliseconds. A rule here takes the tensor that is viewed
and the arguments of the op, and returns ``(size, stride, offset)`` (or a list of
these), or ``NotImplemented``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from girih.frontend.fake.layout import contiguous_strides, is_contiguous

VIEW_RULES: dict[str, Callable] = {}


def _view_rule(*names: str):
    def register(function: Callable) -> Callable:
        for name in names:
            VIEW_RULES[name] = function
        return function

    return register


def _parts(tensor: torch.Tensor) -> tuple[list, list, object]:
    return list(tensor.size()), list(tensor.stride()), tensor.storage_offset()


def _wrap(dim: int, rank: int) -> int | None:
    limit = max(rank, 1)
    return dim % limit if -limit <= dim < limit else None


@_view_rule("alias", "detach")
def _alias(self):
    return _parts(self)


def _permuted(self: torch.Tensor, order: list[int]):
    size, stride, offset = _parts(self)
    return [size[dim] for dim in order], [stride[dim] for dim in order], offset


@_view_rule("permute")
def _permute(self, dims):
    order = [_wrap(dim, self.dim()) for dim in dims]
    if None in order or sorted(order) != list(range(self.dim())):
        return NotImplemented
    return _permuted(self, order)


@_view_rule("transpose.int")
def _transpose(self, dim0, dim1):
    first, second = _wrap(dim0, self.dim()), _wrap(dim1, self.dim())
    if self.dim() == 0 or first is None or second is None:
        return NotImplemented
    order = list(range(self.dim()))
    order[first], order[second] = order[second], order[first]
    return _permuted(self, order)


@_view_rule("t")
def _t(self):
    if self.dim() > 2:
        return NotImplemented
    return _permuted(self, list(range(self.dim()))[::-1])


@_view_rule("unsqueeze")
def _unsqueeze(self, dim):
    size, stride, offset = _parts(self)
    position = _wrap(dim, len(size) + 1)
    if position is None:
        return NotImplemented
    inserted = 1 if position == len(size) else size[position] * stride[position]
    size.insert(position, 1)
    stride.insert(position, inserted)
    return size, stride, offset


@_view_rule("squeeze", "squeeze.dim", "squeeze.dims")
def _squeeze(self, dims=None):
    size, stride, offset = _parts(self)
    if dims is None:
        dims = range(len(size))
    wrapped = [
        _wrap(dim, len(size)) for dim in ([dims] if isinstance(dims, int) else dims)
    ]
    if None in wrapped:
        return NotImplemented
    kept = [d for d, extent in enumerate(size) if d not in wrapped or extent != 1]
    return [size[d] for d in kept], [stride[d] for d in kept], offset


@_view_rule("expand")
def _expand(self, target, implicit=False):
    size, stride, offset = _parts(self)
    rank, added = len(size), len(target) - len(size)
    if added < 0:
        return NotImplemented
    size, stride = [1] * added + size, [0] * added + stride
    result = list(target)
    for dim in reversed(range(len(target))):
        extent = target[dim]
        if isinstance(extent, int) and extent == -1:
            if dim < added:
                return NotImplemented
            result[dim] = size[dim]
        elif size[dim] == 1:
            if extent != 1:
                stride[dim] = 0
            elif dim < added and rank:
                stride[dim] = result[dim + 1] * stride[dim + 1]
        elif size[dim] != extent:
            return NotImplemented
    return result, stride, offset


@_view_rule("select.int")
def _select(self, dim, index):
    size, stride, offset = _parts(self)
    dim = _wrap(dim, len(size)) if size else None
    if dim is None or not (index < size[dim] and -index <= size[dim]):
        return NotImplemented
    if index < 0:
        index = index + size[dim]
    offset = offset + index * stride[dim]
    del size[dim], stride[dim]
    return size, stride, offset


def _bound(index, extent, default):
    if index is None or (isinstance(index, int) and index >= 2**62):
        return default
    if index < 0:
        index = index + extent
    if index < 0:
        return 0
    return extent if index > extent else index


@_view_rule("slice.Tensor")
def _slice(self, dim=0, start=None, end=None, step=1):
    size, stride, offset = _parts(self)
    dim = _wrap(dim, len(size)) if size else None
    if dim is None or step < 1:
        return NotImplemented
    first = _bound(start, size[dim], 0 if start is None else size[dim])
    last = _bound(end, size[dim], size[dim])
    length = 0 if last < first else last - first
    size[dim] = length if step == 1 else (length + step - 1) // step
    offset = offset + first * stride[dim]
    stride[dim] = stride[dim] * step
    return size, stride, offset


@_view_rule("split_with_sizes")
def _split_with_sizes(self, sizes, dim=0):
    total = 0
    parts, dim = [], _wrap(dim, self.dim())
    if dim is None or not self.dim():
        return NotImplemented
    for length in sizes:
        size, stride, offset = _parts(self)
        size[dim] = length
        parts.append((size, stride, offset + total * stride[dim]))
        total = total + length
    return parts if total == self.size()[dim] else NotImplemented


@_view_rule("split.Tensor")
def _split(self, split_size, dim=0):
    wrapped = _wrap(dim, self.dim()) if self.dim() else None
    if wrapped is None or split_size < 1:
        return NotImplemented
    extent = self.size()[wrapped]
    # How many pieces there are must be known.
    count = int((extent + split_size - 1) // split_size)
    if count < 1:
        return NotImplemented
    last = extent - split_size * (count - 1)
    return _split_with_sizes(self, [split_size] * (count - 1) + [last], wrapped)


@_view_rule("unbind.int")
def _unbind(self, dim=0):
    wrapped = _wrap(dim, self.dim()) if self.dim() else None
    if wrapped is None:
        return NotImplemented
    return [_select(self, wrapped, index) for index in range(int(self.size()[wrapped]))]


@_view_rule("view")
def _view(self, target):
    if not is_contiguous(self):
        return NotImplemented
    count, known, open_dim = 1, 1, None
    for extent in self.size():
        count = count * extent
    for dim, extent in enumerate(target):
        if isinstance(extent, int) and extent == -1:
            if open_dim is not None:
                return NotImplemented
            open_dim = dim
        else:
            known = known * extent
    result = list(target)
    if open_dim is not None:
        if known == 0:
            return NotImplemented
        result[open_dim] = count // known
        known = known * result[open_dim]
    if known != count:
        return NotImplemented
    return result, list(contiguous_strides(result)), self.storage_offset()
