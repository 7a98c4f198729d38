"""Import rules of reductions and scans.

``graph`` keeps reduced dims with size 1; a ``reshape`` follows where eager drops them.
"""

from __future__ import annotations

import math

import torch

from girih.dialects.dims import Dim, product
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.registry import imports

_NARROW = (torch.float16, torch.bfloat16)


def wrap_dims(dims, rank: int) -> list[int]:
    """Dims counted from 0; none named means all."""
    if dims is None:
        return list(range(rank))
    if isinstance(dims, int):
        dims = [dims]
    return sorted(dim % max(rank, 1) for dim in dims) or list(range(rank))


def _reduce(b: Builder, name: str, x: Operand, dims, **attributes) -> Operand:
    """A reduction with eager's shape."""
    x = with_dims(b, x)
    dims = wrap_dims(dims, x.rank)
    shape = tuple(1 if d in dims else size for d, size in enumerate(x.shape))
    attributes["dims"] = dims
    return b.reshape(b.op(name, [x], attributes, (shape, x.dtype)), b.out[0].shape)


def widened(b: Builder, x: Operand) -> Operand:
    """x in the dtype that ATen computes with."""
    return b.cast(x, torch.float32) if x.dtype in _NARROW else x


def with_dims(b: Builder, x: Operand) -> Operand:
    """x with at least one dim."""
    return x if x.rank else b.reshape(x, (1,))


@imports("sum", "sum.dim_IntList")
def sum_(b: Builder, self, dim=None, keepdim=False, dtype=None):
    """The sum; of integers as int64."""
    x = b.cast(self, b.out[0].dtype)
    name = "reduce_any" if x.dtype == torch.bool else "reduce_sum"
    return _reduce(b, name, x, dim)


@imports("nansum")
def nansum(b: Builder, self, dim=None, keepdim=False, dtype=None):
    """The sum of what is not NaN; of integers as int64."""
    x = b.cast(self, b.out[0].dtype)
    if self.dtype.is_floating_point:
        is_nan = b.predicate("isnan", self)
        x = b.where(is_nan, b.constant(0, x.dtype), x)
    return _reduce(b, "reduce_sum", x, dim)


@imports("prod", "prod.dim_int")
def prod(b: Builder, self, dim=None, keepdim=False, dtype=None):
    """The product; of integers as int64."""
    x = b.cast(self, b.out[0].dtype)
    return (
        NotImplemented if x.dtype == torch.bool else _reduce(b, "reduce_prod", x, dim)
    )


@imports("mean", "mean.dim")
def mean(b: Builder, self, dim=None, keepdim=False, dtype=None):
    """The mean."""
    return _reduce(b, "mean", b.cast(self, b.out[0].dtype), dim)


@imports("var.correction")
def var(b: Builder, self, dim=None, correction=None, keepdim=False):
    """The variance."""
    correction = 1.0 if correction is None else float(correction)
    if dim is None and _lacks_freedom(self, correction):
        return NotImplemented
    return _reduce(b, "var", self, dim, correction=correction)


def _lacks_freedom(x: Operand, correction: float) -> bool:
    """Whether eager's derivative of a full variance is one of infinities and NaNs."""
    count = product(x.shape)
    return not isinstance(count, Dim) and count <= correction


@imports("std.correction")
def std(b: Builder, self, dim=None, correction=None, keepdim=False):
    """The standard deviation."""
    # The variance may be beyond float16 where its root is not.
    variance = var(b, widened(b, self), dim, correction)
    if variance is NotImplemented:
        return NotImplemented
    return b.cast(_root(b, variance), self.dtype)


def _root(b: Builder, square: Operand) -> Operand:
    """The square root, whose derivative is 0 at 0."""
    zero = b.constant(0, square.dtype)
    is_zero = b.compare("eq", square, zero)
    positive = b.where(is_zero, b.constant(1, square.dtype), square)
    return b.where(is_zero, zero, b.unary("sqrt", positive))


@imports("var_mean.correction")
def var_mean(b: Builder, self, dim=None, correction=None, keepdim=False):
    """Variance and mean."""
    return _with_mean(b, var(b, self, dim, correction), self, dim)


@imports("std_mean.correction")
def std_mean(b: Builder, self, dim=None, correction=None, keepdim=False):
    """Standard deviation and mean."""
    return _with_mean(b, std(b, self, dim, correction), self, dim)


def _with_mean(b: Builder, value, x: Operand, dim):
    if value is NotImplemented:
        return NotImplemented
    return value, _reduce(b, "mean", x, dim)


@imports("amax")
def amax(b: Builder, self, dim=(), keepdim=False):
    """The largest element."""
    return _reduce(b, "reduce_max", self, dim)


@imports("amin")
def amin(b: Builder, self, dim=(), keepdim=False):
    """The smallest element."""
    return _reduce(b, "reduce_min", self, dim)


@imports("max")
def max_(b: Builder, self):
    """The largest of all elements."""
    return _reduce(b, "reduce_max", self, None, ties="nan")


@imports("min")
def min_(b: Builder, self):
    """The smallest of all elements."""
    return _reduce(b, "reduce_min", self, None, ties="nan")


@imports("aminmax")
def aminmax(b: Builder, self, dim=None, keepdim=False):
    """The smallest and the largest element."""
    return amin(b, self, dim), amax(b, self, dim)


def _index_of(b: Builder, name: str, x: Operand, dim: int | None) -> Operand:
    if dim is None:
        x, dim = b.reshape(x, (product(x.shape),)), 0
    x = with_dims(b, x)
    dim %= x.rank
    shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    return b.op(name, [x], {"dim": dim}, (shape, torch.int64))


@imports("max.dim")
def max_dim(b: Builder, self, dim, keepdim=False):
    """The largest element and where it is."""
    index = _index_of(b, "argmax", self, dim)
    values = _reduce(b, "reduce_max", self, dim, ties="first")
    return values, b.reshape(index, b.out[1].shape)


@imports("min.dim")
def min_dim(b: Builder, self, dim, keepdim=False):
    """The smallest element and where it is."""
    index = _index_of(b, "argmin", self, dim)
    values = _reduce(b, "reduce_min", self, dim, ties="first")
    return values, b.reshape(index, b.out[1].shape)


@imports("argmax")
def argmax(b: Builder, self, dim=None, keepdim=False):
    """Where the largest element is."""
    return b.reshape(_index_of(b, "argmax", self, dim), b.out[0].shape)


@imports("argmin")
def argmin(b: Builder, self, dim=None, keepdim=False):
    """Where the smallest element is."""
    return b.reshape(_index_of(b, "argmin", self, dim), b.out[0].shape)


@imports("any", "any.dim", "any.dims")
def any_(b: Builder, self, dim=None, keepdim=False):
    """Whether any element is true."""
    result = _reduce(b, "reduce_any", b.cast(self, torch.bool), dim)
    return b.cast(result, b.out[0].dtype)


@imports("all", "all.dim", "all.dims")
def all_(b: Builder, self, dim=None, keepdim=False):
    """Whether all elements are true."""
    result = _reduce(b, "reduce_all", b.cast(self, torch.bool), dim)
    return b.cast(result, b.out[0].dtype)


@imports("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(b: Builder, self, dim=None):
    """How many elements are not zero."""
    counted = b.cast(b.cast(self, torch.bool), torch.int64)
    return _reduce(b, "reduce_sum", counted, dim)


@imports("logsumexp")
def logsumexp(b: Builder, self, dim, keepdim=False):
    """log(sum(exp(x))), without overflow."""
    x = with_dims(b, widened(b, b.cast(self, b.out[0].dtype)))
    if not x.dtype.is_floating_point or 0 in x.shape:
        return NotImplemented
    dims = wrap_dims(dim, x.rank)
    largest = b.reduce("reduce_max", x, dims)
    zero = b.constant(0, x.dtype)
    # The derivatives by the shift cancel.
    shift = b.where(b.predicate("isinf", largest), zero, largest)
    shift = b.unary("detach", shift)
    total = b.reduce("reduce_sum", b.unary("exp", b.sub(x, shift)), dims)
    value = b.cast(b.add(b.unary("log", total), shift), b.out[0].dtype)
    return b.reshape(value, b.out[0].shape)


@imports("linalg_vector_norm")
def vector_norm(b: Builder, self, ord=2, dim=None, keepdim=False, dtype=None):
    """The 1-, 2- and infinity-norm; others are left to ATen."""
    x = b.cast(self, b.out[0].dtype)
    if ord == 2:
        wide = widened(b, x)
        total = _reduce(b, "reduce_sum", b.mul(wide, wide), dim)
        return b.cast(_root(b, total), x.dtype)
    size = b.unary("abs", x)
    if ord == 1:
        return _reduce(b, "reduce_sum", size, dim)
    if math.isinf(ord) and 0 not in x.shape:
        name = "reduce_max" if ord > 0 else "reduce_min"
        return _reduce(b, name, size, dim, ties="nan")
    return NotImplemented


@imports(
    "norm.Scalar",
    "norm.ScalarOpt_dtype",
    "norm.ScalarOpt_dim",
    "norm.ScalarOpt_dim_dtype",
)
def norm(b: Builder, self, p=None, dim=None, keepdim=False, dtype=None):
    """The same by the older name, which `pairwise_distance` and its losses call."""
    dims = dim or None
    return vector_norm(b, self, 2 if p is None else p, dims, keepdim, dtype)


# Scans and sorting --------------------------------------------------------------


def _running_total(b: Builder, name: str, self, dim):
    """A scan in the dtype of the result; of bools, which only `dtype` asks for, not."""
    if b.out[0].dtype == torch.bool:
        return NotImplemented
    x = b.cast(self, b.out[0].dtype)
    return b.op(name, [x], {"dim": dim % max(x.rank, 1)}, (x.shape, x.dtype))


@imports("cumsum")
def cumsum(b: Builder, self, dim, dtype=None):
    """Running sums."""
    return _running_total(b, "cumsum", self, dim)


@imports("cumprod")
def cumprod(b: Builder, self, dim, dtype=None):
    """Running products."""
    return _running_total(b, "cumprod", self, dim)


@imports("logcumsumexp")
def logcumsumexp(b: Builder, self, dim):
    """Logarithms of running sums of powers; of complex numbers, a call."""
    if not self.dtype.is_floating_point:
        return NotImplemented
    attributes = {"dim": dim % max(self.rank, 1)}
    return b.op("logcumsumexp", [self], attributes, (self.shape, self.dtype))


@imports("cummax")
def cummax(b: Builder, self, dim):
    """Running maxima and where they are."""
    return b.library("cummax", [self], {"dim": dim % max(self.rank, 1)})


@imports("cummin")
def cummin(b: Builder, self, dim):
    """Running minima and where they are."""
    return b.library("cummin", [self], {"dim": dim % max(self.rank, 1)})


@imports("topk")
def topk(b: Builder, self, k, dim=-1, largest=True, sorted=True):
    """The k largest elements."""
    dim %= max(self.rank, 1)
    attributes = {"k": k, "dim": dim, "largest": largest, "sorted": sorted}
    return b.library("topk", [self], attributes)


@imports("sort", "sort.stable")
def sort(b: Builder, self, dim=-1, descending=False, stable=False):
    """Sorted elements and where they came from."""
    dim %= max(self.rank, 1)
    stable = bool(stable)
    attributes = {"dim": dim, "descending": descending, "stable": stable}
    return b.library("sort", [self], attributes)
