"""Import rules of reading and writing at indices that are data."""

from __future__ import annotations

import torch

from girih.dialects.dims import Dim, product
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.registry import imports

_INDEX_DTYPES = (torch.int64, torch.int32)


def _is_never_read(b: Builder) -> bool:
    """Whether the result is empty: no kernel looks at indices then, but ATen does."""
    return 0 in b.out[0].shape


@imports("embedding")
def embedding(
    b: Builder, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False
):
    """Rows of a table."""
    # Only the derivative is another: ATen's own.
    is_special = scale_grad_by_freq or sparse
    if weight.rank != 2 or is_special or isinstance(padding_idx, Dim):
        return NotImplemented
    if _is_never_read(b):
        return NotImplemented
    attributes = {"padding_idx": padding_idx}
    result = (b.out[0].shape, b.out[0].dtype)
    return b.op("embedding", [weight, indices], attributes, result)


@imports("gather")
def gather(b: Builder, self, dim, index, sparse_grad=False):
    """Elements picked along a dim."""
    if not self.rank or index.dtype not in _INDEX_DTYPES or _is_never_read(b):
        return NotImplemented
    attributes = {"dim": dim % self.rank}
    return b.op("gather", [self, index], attributes, (index.shape, self.dtype))


@imports("index_select")
def index_select(b: Builder, self, dim, index):
    """Whole slices picked along a dim."""
    if not self.rank or index.dtype not in _INDEX_DTYPES or _is_never_read(b):
        return NotImplemented
    if not index.rank:
        index = b.reshape(index, (1,))
    return b.take(self, index, dim % self.rank)


@imports("take")
def take(b: Builder, self, index):
    """Elements picked from the flattened tensor."""
    if index.dtype not in _INDEX_DTYPES:
        return NotImplemented
    return b.take(b.reshape(self, (product(self.shape),)), index, 0, from_end=True)


def _tensor_indices(indices) -> tuple[list[int], list[Operand]] | None:
    """Dims and indices of advanced indexing; None where some are masks."""
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    used = [indices[dim] for dim in dims]
    if not used or any(index.dtype not in _INDEX_DTYPES for index in used):
        return None
    return dims, used


@imports("index.Tensor", "_unsafe_index.Tensor")
def index(b: Builder, self, indices):
    """Advanced indexing."""
    found = _tensor_indices(indices)
    if found is None:
        return NotImplemented
    dims, used = found
    result = (b.out[0].shape, self.dtype)
    return b.op("index", [self, used], {"dims": dims}, result)


@imports("index_put", "_unsafe_index_put")
def index_put(b: Builder, self, indices, values, accumulate=False):
    """self with elements written at indices."""
    found = _tensor_indices(indices)
    if found is None:
        return _masked_put(b, self, indices, values, accumulate)
    dims, used = found
    attributes = {"dims": dims, "accumulate": accumulate}
    return b.library("index_put", [self, values, used], attributes)[0]


def _masked_put(b: Builder, self, indices, values, accumulate):
    """One number written where a mask holds."""
    mask = indices[0]
    only = len(indices) == 1 and mask is not None and mask.dtype == torch.bool
    if not only or accumulate or values.shape != () or mask.rank > self.rank:
        return NotImplemented
    mask = b.reshape(mask, mask.shape + (1,) * (self.rank - mask.rank))
    return b.where(mask, b.cast(values, self.dtype), self)


@imports("scatter.src")
def scatter(b: Builder, self, dim, index, src):
    """self with elements of src written along a dim."""
    return _scatter(b, "scatter", self, dim, index, src)


@imports("scatter_add")
def scatter_add(b: Builder, self, dim, index, src):
    """self with elements of src added along a dim."""
    return _scatter(b, "scatter_add", self, dim, index, src)


def _scatter(b: Builder, name: str, self, dim, index, src):
    if not self.rank or src.dtype != self.dtype or src.rank != self.rank:
        return NotImplemented
    if index.dtype not in _INDEX_DTYPES or index.rank != self.rank:
        return NotImplemented
    return b.library(name, [self, index, src], {"dim": dim % self.rank})[0]


@imports("tril")
def tril(b: Builder, self, diagonal=0):
    """The lower triangle."""
    return _triangle(b, "tril", self, diagonal)


@imports("triu")
def triu(b: Builder, self, diagonal=0):
    """The upper triangle."""
    return _triangle(b, "triu", self, diagonal)


def _triangle(b: Builder, name: str, x: Operand, diagonal):
    if isinstance(diagonal, Dim):
        return NotImplemented
    return b.op(name, [x], {"diagonal": diagonal}, (x.shape, x.dtype))
