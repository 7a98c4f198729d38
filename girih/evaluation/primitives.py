"""Evaluation of the primitives of ``graph``, and of fusions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from girih.dialects import dims, graph
from girih.dialects.definition import Op
from girih.dialects.graph.elementwise_classes import FloatFunction
from girih.evaluation.philox import words
from girih.evaluation.state import evaluates

# Elementwise --------------------------------------------------------------------


def _function(cls: type[Op]) -> Callable:
    """A rule that calls the ATen operator that an op's class names."""
    name, _, overload = cls.overload().partition(".")
    operator = getattr(getattr(torch.ops.aten, name), overload)
    arguments = operator._schema.arguments[len(cls.OPERANDS) :]
    named = [each.name for each in arguments if each.kwarg_only]

    def rule(state, op, *operands):
        numbers = [getattr(op, name) for name in cls.ATTRIBUTES]
        if isinstance(op, FloatFunction):
            return operator(*cls.arguments(*operands, numbers))
        split = len(arguments) - len(named)
        options = dict(zip(named, numbers[split:], strict=False))
        return operator(*operands, *numbers[:split], **options)

    return rule


for _cls in graph.OPS.values():
    # A user's op, derived from a class of girih's, is none of ATen's operators.
    if _cls.ATEN and hasattr(torch.ops.aten, _cls.overload().partition(".")[0]):
        evaluates(_cls.SHORT_NAME)(_function(_cls))


@evaluates("floor_divide")
def _floor_divide(state, op, x, y):
    return torch.div(x, y, rounding_mode="floor")


@evaluates("trunc_divide")
def _trunc_divide(state, op, x, y):
    return torch.div(x, y, rounding_mode="trunc")


@evaluates("cast")
def _cast(state, op, x):
    return x.to(state.dtype(op.results[0].type))


# Creation -----------------------------------------------------------------------


@evaluates("constant", "full")
def _full(state, op):
    type_ = op.results[0].type
    return torch.full(state.shape(type_), op.value, dtype=state.dtype(type_))


@evaluates("iota")
def _iota(state, op):
    type_ = op.results[0].type
    dtype = state.dtype(type_)
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    count = torch.arange(state.shape(type_)[0], dtype=wide)
    start = op.start
    start = state.number(dims.parse(start)) if isinstance(start, str) else start
    return (start + op.step * count).to(dtype)


@evaluates("seed")
def _seed(state, op, seeds):
    return seeds[op.index]


@evaluates("philox")
def _philox(state, op, seed, index):
    return words(seed.item(), index)


@evaluates("size")
def _size(state, op):
    return torch.tensor(state.number(op.expr), dtype=torch.int64)


@evaluates("arith.constant")
def _index_constant(state, op):
    return op.attributes["value"].value


# Shape --------------------------------------------------------------------------


@evaluates("reshape")
def _reshape(state, op, x):
    return x.reshape(state.shape(op.results[0].type))


@evaluates("permute")
def _permute(state, op, x):
    return x.permute(tuple(op.permutation))


@evaluates("broadcast_to")
def _broadcast_to(state, op, x):
    return x.broadcast_to(state.shape(op.results[0].type))


@evaluates("slice")
def _slice(state, op, x):
    shape = state.shape(op.results[0].type)
    for dim, (start, step, size) in enumerate(
        zip(op.starts, op.steps, shape, strict=True)
    ):
        index = state.number(start) + step * torch.arange(size)
        x = x.index_select(dim, index)
    return x


@evaluates("insert")
def _insert(state, op, x, part):
    x, place = x.clone(), []
    for size, start, step in zip(part.shape, op.starts, op.steps, strict=True):
        place.append(state.number(start) + step * torch.arange(size))
    x[torch.meshgrid(*place, indexing="ij")] = part
    return x


@evaluates("window")
def _window(state, op, x):
    *_, length = state.shape(op.results[0].type)
    return x.unfold(op.dim, length, state.number(op.step))


@evaluates("concat")
def _concat(state, op, *parts):
    return torch.cat(parts, op.dim)


@evaluates("pad")
def _pad(state, op, x):
    padding = []
    for low, high in zip(reversed(op.low), reversed(op.high), strict=True):
        padding += [state.number(low), state.number(high)]
    return torch.nn.functional.pad(x, padding, value=op.value)


@evaluates("flip")
def _flip(state, op, x):
    return x.flip(tuple(op.dims))


# Reduction ----------------------------------------------------------------------


def _reduces(name: str):
    def register(function):
        @evaluates(name)
        def rule(state, op, x):
            return function(x, list(op.dims)) if len(op.dims) else function(x, [])

        return rule

    return register


@_reduces("reduce_sum")
def _reduce_sum(x, over):
    return x.sum(over, keepdim=True, dtype=x.dtype) if over else x


@_reduces("reduce_prod")
def _reduce_prod(x, over):
    for dim in over:
        x = x.prod(dim, keepdim=True, dtype=x.dtype)
    return x


@evaluates("reduce_max")
def _reduce_max(state, op, x):
    return _extremum(op, x, torch.amax, torch.max)


@evaluates("reduce_min")
def _reduce_min(state, op, x):
    return _extremum(op, x, torch.amin, torch.min)


def _extremum(op, x, over_dims, over_one_or_all):
    """Torch's op with the derivative that the attribute ``ties`` names."""
    dims = list(op.dims)
    if op.ties == "first":
        return over_one_or_all(x, dims[0], keepdim=True).values
    if op.ties == "nan" and len(dims) == x.dim():
        return over_one_or_all(x).reshape([1] * x.dim())
    return over_dims(x, dims, keepdim=True) if dims else x


@_reduces("reduce_any")
def _reduce_any(x, over):
    for dim in over:
        x = x.any(dim, keepdim=True)
    return x


@_reduces("reduce_all")
def _reduce_all(x, over):
    for dim in over:
        x = x.all(dim, keepdim=True)
    return x


@_reduces("mean")
def _mean(x, over):
    return x.mean(over, keepdim=True) if over else x


@evaluates("var")
def _var(state, op, x):
    return x.var(list(op.dims), correction=op.correction, keepdim=True)


@evaluates("argmax")
def _argmax(state, op, x):
    x = x.to(torch.uint8) if x.dtype == torch.bool else x
    return x.argmax(op.dim, keepdim=True)


@evaluates("argmin")
def _argmin(state, op, x):
    x = x.to(torch.uint8) if x.dtype == torch.bool else x
    return x.argmin(op.dim, keepdim=True)


# Indexing -----------------------------------------------------------------------


def _checked(index: Tensor, size: int, from_end: bool = False) -> Tensor:
    """Indices, negative ones maybe from the end; raises where one is out of range."""
    least = -size if from_end else 0
    assert bool(((index >= least) & (index < size)).all()), "index out of range"
    return torch.where(index < 0, index + size, index).long()


@evaluates("take")
def _take(state, op, x, index):
    flat = _checked(index, x.shape[op.dim], op.from_end is not None).reshape(-1)
    taken = x.index_select(op.dim, flat)
    return taken.reshape(x.shape[: op.dim] + index.shape + x.shape[op.dim + 1 :])


@evaluates("gather")
def _gather(state, op, x, index):
    return x.gather(op.dim, _checked(index, x.shape[op.dim]))


@evaluates("embedding")
def _embedding(state, op, weight, index):
    return weight[_checked(index, weight.shape[0])]


def positions(op, indices) -> tuple:
    """What a tensor is indexed with, for each dim up to the last one that is."""
    named = dict(zip(op.dims, indices, strict=True))
    return tuple(
        named[dim].long() if dim in named else slice(None)
        for dim in range(max(op.dims) + 1)
    )


@evaluates("index")
def _index(state, op, x, *indices):
    return x[positions(op, indices)]


@evaluates("index_put")
def _index_put(state, op, x, values, *indices):
    places = [None if isinstance(p, slice) else p for p in positions(op, indices)]
    return torch.ops.aten.index_put(x, places, values, op.accumulate)


@evaluates("scatter")
def _scatter(state, op, x, index, src):
    return x.scatter(op.dim, index.long(), src)


@evaluates("scatter_add")
def _scatter_add(state, op, x, index, src):
    return x.scatter_add(op.dim, index.long(), src)


@evaluates("accumulate")
def _accumulate(state, op, x, place, source):
    flat = x.flatten().index_add(0, place.flatten(), source.flatten())
    return flat.reshape(x.shape)


@evaluates("tril")
def _tril(state, op, x):
    return x.tril(op.diagonal)


@evaluates("triu")
def _triu(state, op, x):
    return x.triu(op.diagonal)


# Fusions ------------------------------------------------------------------------


@evaluates("fusion")
def _fusion(state, op, *inputs):
    block = op.regions[0].blocks[0]
    for argument, value in zip(block.arguments, inputs, strict=True):
        state.values[argument] = value
    return state.run(block)
