"""Shape rules of reductions, scans and softmax."""

from __future__ import annotations

import math
import warnings

import torch

from girih.frontend.fake.acceptance import asking_kernels
from girih.frontend.fake.demands import is_undecided
from girih.frontend.fake.layout import preserved_strides, wrap_dims
from girih.frontend.fake.promotion import sum_dtype
from girih.frontend.fake.rules import Result, shape_rule


def _reduced_size(tensor: torch.Tensor, dims: list[int], keepdim: bool) -> tuple:
    size = tensor.size()
    if keepdim:
        return tuple(1 if dim in dims else size[dim] for dim in range(len(size)))
    return tuple(size[dim] for dim in range(len(size)) if dim not in dims)


def _reduce(tensor, dims, keepdim, dtype, *, nonempty=False):
    wrapped = wrap_dims(dims, tensor.dim())
    if wrapped is None:
        return NotImplemented
    if nonempty and any(tensor.size()[dim] == 0 for dim in wrapped if tensor.dim()):
        return NotImplemented
    return Result(_reduced_size(tensor, wrapped, keepdim), dtype)


@shape_rule("sum", "prod")
def _sum_all(self, dtype=None):
    return Result((), dtype or sum_dtype(self.dtype))


@shape_rule("sum.dim_IntList", "prod.dim_int")
def _sum(self, dim, keepdim=False, dtype=None):
    return _reduce(self, dim, keepdim, dtype or sum_dtype(self.dtype))


@shape_rule("mean")
def _mean_all(self, dtype=None):
    return _mean(self, None, dtype=dtype)


@shape_rule("mean.dim")
def _mean(self, dim, keepdim=False, dtype=None):
    dtype = dtype or self.dtype
    if not dtype.is_floating_point:
        return NotImplemented
    return _reduce(self, dim, keepdim, dtype)


def _of_squares(name: str) -> None:
    """Registers the rules of a variance or a deviation, alone and with the mean."""

    def alone(self, dim=None, correction=None, keepdim=False):
        if not self.dtype.is_floating_point:
            return NotImplemented
        return _variance(name, self, dim, correction, keepdim)

    def with_mean(self, dim=None, correction=None, keepdim=False):
        if not self.dtype.is_floating_point:
            return NotImplemented
        one = _variance(f"{name}_mean", self, dim, correction, keepdim)
        return NotImplemented if one is NotImplemented else (one, one)

    shape_rule(f"{name}.correction")(alone)
    shape_rule(f"{name}_mean.correction")(with_mean)


_of_squares("var")
_of_squares("std")


def _variance(name, tensor, dims, correction, keepdim):
    result = _reduce(tensor, dims, keepdim, tensor.dtype)
    if result is not NotImplemented:
        _warn_of_freedom(name, tensor, dims, correction)
    return result


def _warn_of_freedom(name, tensor, given, correction) -> None:
    """Warns as kernels do, which meta kernels do not, of what has no variance.

    Not where a graph calls ATen, which warns itself at each call: for all elements, if
    it is known that they are too few.
    """
    size, dims = tensor.size(), wrap_dims(given, tensor.dim())
    kept = [size[n] for n in range(len(size)) if n not in dims]
    try:
        count = 0 if 0 in kept else math.prod(size[n] for n in dims if len(size))
        is_lacking = count <= (1 if correction is None else correction)
    except Exception as error:
        if not is_undecided(error):
            raise
        return  # what only the program's data tell is seldom so small
    is_called = given is None and _is_known(count)
    if is_lacking and not is_called:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less "
            "than the reduction factor (input numel divided by output numel).",
            stacklevel=2,
        )


def _is_known(count) -> bool:
    return not isinstance(count, torch.SymInt) or count.node.expr.is_number


@shape_rule("amax", "amin")
def _extremum(self, dim=(), keepdim=False):
    return _reduce(self, dim, keepdim, self.dtype, nonempty=True)


@shape_rule("max")
def _max(self):
    return _extremum_of_all(torch.max, self)


@shape_rule("min")
def _min(self):
    return _extremum_of_all(torch.min, self)


@shape_rule("max.dim")
def _max_along(self, dim, keepdim=False):
    return _extremum_and_index(torch.max, self, dim, keepdim)


@shape_rule("min.dim")
def _min_along(self, dim, keepdim=False):
    return _extremum_and_index(torch.min, self, dim, keepdim)


def _extremum_of_all(function, tensor):
    values = _reduce(tensor, None, False, tensor.dtype, nonempty=True)
    return _check_empty(function, tensor) if values is NotImplemented else values


def _extremum_and_index(function, tensor, dim, keepdim):
    values = _reduce(tensor, dim, keepdim, tensor.dtype, nonempty=True)
    if values is NotImplemented:
        return _check_empty(function, tensor, dim)
    return values, Result(values.size, torch.int64)


def _check_empty(function, tensor, *arguments):
    """Has eager refuse an empty tensor, which kernels for fake ones take."""
    if any(n == 0 for n in tensor.size()):
        sizes = [int(n) for n in tensor.size()]
        with asking_kernels():
            function(torch.empty(sizes, dtype=tensor.dtype), *arguments)
    return NotImplemented


@shape_rule("argmax", "argmin")
def _index_of_extremum(self, dim=None, keepdim=False):
    if self.dtype == torch.bool:
        return NotImplemented
    return _reduce(self, dim, keepdim, torch.int64, nonempty=True)


@shape_rule("any", "all")
def _truth_of_all(self):
    return _truth(self, None)


@shape_rule("any.dim", "all.dim", "any.dims", "all.dims")
def _truth(self, dim=None, keepdim=False):
    dtype = torch.uint8 if self.dtype == torch.uint8 else torch.bool
    return _reduce(self, dim, keepdim, dtype)


@shape_rule("logsumexp")
def _logsumexp(self, dim, keepdim=False):
    if not self.dtype.is_floating_point:
        return NotImplemented
    return _reduce(self, dim, keepdim, self.dtype)


@shape_rule("count_nonzero")
def _count(self, dim=None):
    return _reduce(self, dim, False, torch.int64)


@shape_rule("count_nonzero.dim_IntList")
def _count_along(self, dim):
    return _reduce(self, dim, False, torch.int64)


@shape_rule("linalg_vector_norm")
def _vector_norm(self, ord=2, dim=None, keepdim=False, dtype=None):
    if not self.dtype.is_floating_point or any(n == 0 for n in self.size()):
        return NotImplemented
    return _reduce(self, dim, keepdim, dtype or self.dtype)


@shape_rule("sort")
def _sort(self, dim=-1, descending=False):
    return _sort_stably(self, None, dim, descending)


@shape_rule("sort.stable")
def _sort_stably(self, stable=None, dim=-1, descending=False):
    if wrap_dims(dim, self.dim()) is None or not self.is_contiguous():
        return NotImplemented
    size = tuple(self.size())
    strides = preserved_strides(self)  # of dims of one element, and of none
    return Result(size, self.dtype, strides), Result(size, torch.int64, strides)


@shape_rule("topk")
def _topk(self, k, dim=-1, largest=True, sorted=True):
    size = list(self.size())
    if not size or wrap_dims(dim, len(size)) is None or not self.is_contiguous():
        return NotImplemented
    if not 0 <= k <= size[dim]:
        return NotImplemented
    size[dim] = k
    return Result(tuple(size), self.dtype), Result(tuple(size), torch.int64)


@shape_rule("cumsum", "cumprod")
def _scan(self, dim, dtype=None):
    if wrap_dims(dim, self.dim()) is None or not self.is_contiguous():
        return NotImplemented
    return Result(tuple(self.size()), dtype or sum_dtype(self.dtype))


@shape_rule("_softmax", "_log_softmax")
def _softmax(self, dim, half_to_float):
    if half_to_float or wrap_dims(dim, self.dim()) is None:
        return NotImplemented
    return _normalized(self)


@shape_rule("_safe_softmax")
def _safe_softmax(self, dim, dtype=None):
    if dtype is not None or wrap_dims(dim, self.dim()) is None:
        return NotImplemented
    return _normalized(self)


def _normalized(tensor):
    if not tensor.dtype.is_floating_point:
        return NotImplemented
    return Result(tuple(tensor.size()), tensor.dtype)


@shape_rule("nll_loss_forward")
def _nll_loss(self, target, weight, reduction, ignore_index):
    batched = self.dim() == 2 and target.dim() == 1
    if not batched or self.size()[0] != target.size()[0]:
        return NotImplemented
    if target.dtype != torch.int64 or (weight is not None and weight.dim() != 1):
        return NotImplemented
    size = tuple(target.size()) if reduction == 0 else ()
    return Result(size, self.dtype), Result((), self.dtype)
