"""Shape rules of concatenation, indexing, padding and normalisation."""

from __future__ import annotations

import torch

from girih.frontend.fake.geometry import VIEW_RULES
from girih.frontend.fake.layout import (
    broadcast,
    has_any,
    is_contiguous,
    is_row_by_row,
    preserved_strides,
    split_strides,
    suggested_strides,
)
from girih.frontend.fake.promotion import promote
from girih.frontend.fake.rules import Result, shape_rule

_INDEX_DTYPES = (torch.int64, torch.int32)


@shape_rule("_unsafe_view", "_reshape_copy")
def _unsafe_view(self, size):
    if not is_contiguous(self) or any(extent == -1 for extent in size):
        return NotImplemented
    return Result(tuple(size), self.dtype)


_KEPT_FORMATS = (None, torch.preserve_format)


@shape_rule("clone")
def _clone(self, memory_format=None):
    if memory_format is torch.contiguous_format:
        return Result(tuple(self.size()), self.dtype)
    if memory_format not in _KEPT_FORMATS:
        return NotImplemented
    return Result(tuple(self.size()), self.dtype, preserved_strides(self))


@shape_rule("_to_copy")
def _to_copy(
    self,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    non_blocking=False,
    memory_format=None,
):
    if layout not in (None, torch.strided) or pin_memory:
        return NotImplemented
    if not isinstance(self, torch.Tensor):  # a number that functorch wrapped
        return NotImplemented if dtype is None else Result((), dtype)
    result = _clone(self, memory_format)
    if dtype is None or result is NotImplemented:
        return result
    return result._replace(dtype=dtype)


@shape_rule("copy")
def _copy(self, src, non_blocking=False):
    size = tuple(self.size())
    if broadcast([size, src.size()]) != size:
        return NotImplemented
    return Result(size, self.dtype, preserved_strides(self))


@shape_rule("cat")
def _cat(tensors, dim=0):
    first = tensors[0]
    rank = first.dim()
    if not -rank <= dim < rank or any(t.dim() != rank for t in tensors):
        return NotImplemented
    if not all(is_row_by_row(tensor) for tensor in tensors):
        return NotImplemented
    dim, size = dim % rank, list(first.size())
    for tensor in tensors[1:]:
        for axis, extent in enumerate(tensor.size()):
            if axis == dim:
                size[dim] = size[dim] + extent
            elif extent != size[axis]:
                return NotImplemented
    return Result(tuple(size), promote(*tensors))


@shape_rule("stack")
def _stack(tensors, dim=0):
    size = list(tensors[0].size())
    if not -len(size) - 1 <= dim <= len(size):
        return NotImplemented
    if any(list(tensor.size()) != size for tensor in tensors):
        return NotImplemented
    dim %= len(size) + 1
    result = (*size[:dim], len(tensors), *size[dim:])
    is_row_by_row = all(is_contiguous(tensor) for tensor in tensors)
    if is_row_by_row and not has_any(size, 1):
        return Result(result, promote(*tensors))
    if has_any(size, 0):
        return NotImplemented
    return Result(result, promote(*tensors), _stacked_strides(tensors, dim, result))


def _stacked_strides(tensors, dim, result):
    """ATen joins along the dim and splits that; the last one it makes before."""
    if dim == len(result) - 1:
        tensors, joined = [_Unsqueezed(tensor) for tensor in tensors], result
    else:
        joined = list(result)
        joined[dim : dim + 2] = [result[dim] * result[dim + 1]]
    strides = [suggested_strides(tensor, tuple(joined)) for tensor in tensors]
    if None in strides or joined is result:
        return None if None in strides else strides[0]
    return split_strides(joined, strides[0], result)


class _Unsqueezed:
    """The layout of a tensor with one more dim, which is the last one."""

    def __init__(self, tensor: torch.Tensor):
        self._size, self._stride = (*tensor.size(), 1), (*tensor.stride(), 1)

    def size(self) -> tuple:
        return self._size

    def stride(self) -> tuple:
        return self._stride


@shape_rule("embedding")
def _embedding(weight, indices, padding_idx=-1, *args):
    if weight.dim() != 2 or indices.dtype not in _INDEX_DTYPES:
        return NotImplemented
    return Result((*indices.size(), weight.size()[1]), weight.dtype)


@shape_rule("gather")
def _gather(self, dim, index, sparse_grad=False):
    rank = self.dim()
    if index.dim() != rank or not -rank <= dim < rank:
        return NotImplemented
    if index.dtype not in _INDEX_DTYPES:
        return NotImplemented
    dim = dim % rank
    if any(
        axis != dim and index.size()[axis] > self.size()[axis] for axis in range(rank)
    ):
        return NotImplemented
    return Result(tuple(index.size()), self.dtype)


@shape_rule("index_select")
def _index_select(self, dim, index):
    rank = self.dim()
    if not -rank <= dim < rank or index.dim() != 1:
        return NotImplemented
    size = list(self.size())
    size[dim] = index.size()[0]
    return Result(tuple(size), self.dtype)


@shape_rule("index.Tensor")
def _index(self, indices):
    """Leading or adjacent int64 indices into a contiguous tensor."""
    present = [i for i, index in enumerate(indices) if index is not None]
    used = [indices[i] for i in present]
    if not used or any(index.dtype not in _INDEX_DTYPES for index in used):
        return NotImplemented
    if len(indices) > self.dim() or not is_contiguous(self):
        return NotImplemented
    shape = broadcast([index.size() for index in used])
    if shape is None or present[-1] - present[0] + 1 != len(present):
        return NotImplemented
    size = self.size()
    result = (*size[: present[0]], *shape, *size[present[-1] + 1 :])
    # Only with a leading index is the result contiguous for certain.
    return Result(result, self.dtype) if present[0] == 0 else NotImplemented


@shape_rule(
    "scatter.src",
    "scatter.value",
    "scatter_add",
    "index_add",
    "index_copy",
)
def _written(self, *args, **kwargs):
    return (
        Result(tuple(self.size()), self.dtype)
        if is_contiguous(self)
        else NotImplemented
    )


@shape_rule("index_put", "index_fill.int_Scalar")
def _written_copy(self, *args, **kwargs):
    return Result(tuple(self.size()), self.dtype, preserved_strides(self))


@shape_rule("take")
def _take(self, index):
    if index.dtype != torch.int64 or not is_contiguous(index):
        return NotImplemented
    return Result(tuple(index.size()), self.dtype)


@shape_rule("roll")
def _roll(self, shifts, dims=()):
    size = tuple(self.size())
    if not dims and len(shifts) == 1:
        return Result(size, self.dtype)
    rank = len(size)
    if len(dims) != len(shifts) or any(not -rank <= dim < rank for dim in dims):
        return NotImplemented
    if has_any(size, 0):
        return Result(size, self.dtype, preserved_strides(self))
    strides = suggested_strides(self, size)
    if strides is not None:
        # What stays in place is joined with a part of no elements, which lies row by
        # row, and with that so does the whole.
        stays = any(
            shift % size[dim] == 0 for shift, dim in zip(shifts, dims, strict=True)
        )
        strides = None if stays else strides
    return Result(size, self.dtype, strides)


def _bordered(count: int):
    """A rule of padding ``count`` dims with what stands inside."""

    def rule(self, padding):
        size = list(self.size())
        if len(size) not in (count + 1, count + 2):
            return NotImplemented
        if len(padding) != 2 * count or any(n == 0 for n in size):
            return NotImplemented
        for position in range(count):
            before, after = padding[2 * position : 2 * position + 2]
            extent = size[-1 - position]
            if not 0 <= before < extent or not 0 <= after < extent:
                return NotImplemented
            size[-1 - position] = extent + before + after
        return Result(tuple(size), self.dtype, suggested_strides(self, tuple(size)))

    return rule


for _count in (1, 2, 3):
    shape_rule(f"reflection_pad{_count}d", f"replication_pad{_count}d")(
        _bordered(_count)
    )


@shape_rule("tril", "triu")
def _triangle(self, diagonal=0):
    if self.dim() < 2 or not is_contiguous(self):
        return NotImplemented
    return Result(tuple(self.size()), self.dtype)


@shape_rule("flip")
def _flip(self, dims):
    rank = self.dim()
    if not is_contiguous(self) or any(not -rank <= dim < rank for dim in dims):
        return NotImplemented
    if rank and len({dim % rank for dim in dims}) < len(dims):
        return NotImplemented
    return Result(tuple(self.size()), self.dtype, preserved_strides(self))


@shape_rule("repeat")
def _repeat(self, repeats):
    missing = len(repeats) - self.dim()
    if missing < 0 or any(count < 0 for count in repeats):
        return NotImplemented
    size = (1,) * missing + tuple(self.size())
    return Result(tuple(a * b for a, b in zip(size, repeats, strict=True)), self.dtype)


@shape_rule("upsample_nearest1d", "_upsample_nearest_exact1d")
def _resized_lines(self, output_size, scales=None):
    """Contiguous, whatever the operand's layout; torch's own kernel keeps that."""
    if self.dim() != 3 or len(output_size) != 1 or not output_size[0] > 0:
        return NotImplemented
    batch, channels, length = self.size()
    if not (channels > 0 and length > 0):
        return NotImplemented
    return Result((batch, channels, output_size[0]), self.dtype)


@shape_rule("constant_pad_nd")
def _pad(self, pad, value=0):
    size = list(self.size())
    if len(pad) % 2 or len(pad) > 2 * len(size):
        return NotImplemented
    for position in range(len(pad) // 2):
        extent = size[-1 - position] + pad[2 * position] + pad[2 * position + 1]
        if extent < 0:
            return NotImplemented
        size[-1 - position] = extent
    # Eager clones the part that is left where no pad is positive. torch's own rule for
    # fake tensors does not ask this of symbolic pads, so its strides are others.
    # Of a contiguous tensor both are, so the sign of a symbolic pad needs no guard.
    is_known = all(isinstance(extent, int) for extent in pad)
    if (is_known or not is_contiguous(self)) and all(extent <= 0 for extent in pad):
        return Result(tuple(size), self.dtype, _strides_of_part(self, tuple(size)))
    if not is_contiguous(self):
        return NotImplemented
    return Result(tuple(size), self.dtype, suggested_strides(self, tuple(size)))


def _strides_of_part(self, size):
    """Strides of a clone of a part of a tensor, None where contiguous."""
    return preserved_strides(torch.as_strided(self, size, self.stride()))


def _put_into_view(view: str):
    """The rule of the op that is a copy of a tensor with a view of it replaced."""

    def rule(self, src, *args, **kwargs):
        if view in VIEW_RULES:
            place = VIEW_RULES[view](self, *args, **kwargs)
            # Symbolic sizes that eager takes are equal: one size from here on.
            if place is NotImplemented or tuple(place[0]) != tuple(src.size()):
                return NotImplemented
        return Result(tuple(self.size()), self.dtype, preserved_strides(self))

    return rule


for _name, _view in (
    ("diagonal_scatter", "diagonal"),
    ("select_scatter", "select.int"),
    ("slice_scatter", "slice.Tensor"),
):
    shape_rule(_name)(_put_into_view(_view))


_HALVES = (torch.float16, torch.bfloat16)


def _dtype_of_statistics(input, weight, bias) -> torch.dtype | None:
    """That of means and deviations; None where PyTorch's own rule has to say it.

    Parameters of float32 may stand with 16-bit elements, as autocast has them.
    """
    if _same_dtype(input, weight, bias):
        return input.dtype
    given = {x.dtype for x in (weight, bias) if x is not None}
    if input.device.type == "cpu" and input.dtype in _HALVES:
        return torch.float32 if given == {torch.float32} else None
    return None


@shape_rule("native_layer_norm")
def _layer_norm(input, normalized_shape, weight, bias, eps):
    rank = input.dim() - len(normalized_shape)
    size = tuple(input.size())
    if rank < 0 or size[rank:] != tuple(normalized_shape):
        return NotImplemented
    dtype = _dtype_of_statistics(input, weight, bias)
    if dtype is None:
        return NotImplemented
    statistics = Result(size[:rank] + (1,) * len(normalized_shape), dtype)
    return Result(size, input.dtype), statistics, statistics


@shape_rule("native_group_norm")
def _group_norm(input, weight, bias, N, C, HxW, group, eps):
    dtype = _dtype_of_statistics(input, weight, bias)
    if C % group or dtype is None:
        return NotImplemented
    size, statistics = tuple(input.size()), Result((N, group), dtype)
    normed = Result(size, input.dtype, suggested_strides(input, size))
    return normed, statistics, statistics


@shape_rule("_native_batch_norm_legit_no_training")
def _batch_norm(input, weight, bias, running_mean, running_var, momentum, eps):
    if not _same_dtype(input, weight, bias, running_mean, running_var):
        return NotImplemented
    nothing = Result((0,), input.dtype)
    return _normed_images(input), nothing, nothing


def _normed_images(input: torch.Tensor) -> Result:
    """Row by row, or with the channels innermost where they are so, and only so."""
    size = tuple(input.size())
    strides = None if is_contiguous(input) else suggested_strides(input, size)
    return Result(size, input.dtype, strides)


@shape_rule("native_batch_norm")
def _native_batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps
):
    if training:
        return _batch_norm_training(input, weight, bias, running_mean, running_var)
    return _batch_norm(input, weight, bias, running_mean, running_var, momentum, eps)


def _batch_norm_training(input, *parameters):
    """On the CPU; cuDNN has layouts of its own."""
    if input.device.type != "cpu" or input.dim() < 2:
        return NotImplemented
    dtype = input.dtype
    if dtype in (torch.float16, torch.bfloat16):
        if any(x is not None and x.dtype == torch.float32 for x in parameters):
            dtype = torch.float32
    if not dtype.is_floating_point:
        return NotImplemented
    if any(x is not None and x.dtype != dtype for x in parameters):
        return NotImplemented
    statistics = Result((input.size()[1],), dtype)
    return _normed_images(input), statistics, statistics


def _same_dtype(tensor, *others):
    if not tensor.dtype.is_floating_point:
        return False
    return all(other is None or other.dtype == tensor.dtype for other in others)


@shape_rule("unsafe_split.Tensor", "unsafe_split_with_sizes")
def _unsafe_split(self, sizes, dim=0):
    """Pieces laid out as views; what memory they share is nobody's business."""
    name = "split_with_sizes" if isinstance(sizes, (list, tuple)) else "split.Tensor"
    pieces = VIEW_RULES[name](self, sizes, dim)
    if pieces is NotImplemented:
        return NotImplemented
    return [
        Result(tuple(size), self.dtype, tuple(stride)) for size, stride, _ in pieces
    ]
