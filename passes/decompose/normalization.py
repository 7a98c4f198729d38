"""Softmax and normalisations, in f32 where the operand is of a smaller float type."""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.decompose.reduction import mean_over, moments_over
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder


def _element(value: ir.Value) -> ir.Type:
    return value.type.element_type


def _exponentials(op, b: GraphBuilder) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Returns x - max, its exponential and the sum of those."""
    x = b.widened(op.x)
    if not ty.shape_of(x.type):
        shifted = b.op("sub", x, x)
        power = b.op("exp", shifted)
        return shifted, power, power
    shifted = b.op("sub", x, b.op("reduce_max", x, dims=(op.dim,)))
    power = b.op("exp", shifted)
    return shifted, power, b.op("reduce_sum", power, dims=(op.dim,))


@decomposes("softmax")
def decompose_softmax(op, b: GraphBuilder) -> list[ir.Value]:
    """exp(x - max) / sum(exp(x - max)), which does not overflow."""
    _, power, total = _exponentials(op, b)
    return [b.cast(b.op("div", power, total), _element(op.y))]


@decomposes("log_softmax")
def decompose_log_softmax(op, b: GraphBuilder) -> list[ir.Value]:
    """x - max - log(sum(exp(x - max)))."""
    shifted, _, total = _exponentials(op, b)
    return [b.cast(b.op("sub", shifted, b.op("log", total)), _element(op.y))]


def _rstd(b: GraphBuilder, variance: ir.Value, eps: float) -> ir.Value:
    return b.op("rsqrt", b.op("add", variance, b.like(eps, variance)))


def _scaled(
    b: GraphBuilder,
    y: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
    shape: Sequence,
) -> ir.Value:
    """Returns y * weight + bias, the parameters reshaped and in y's element type."""
    if weight is not None:
        y = b.op("mul", y, b.cast(b.reshape(weight, shape), _element(y)))
    if bias is not None:
        y = b.op("add", y, b.cast(b.reshape(bias, shape), _element(y)))
    return y


def _as_result(b: GraphBuilder, value: ir.Value, result: ir.Value) -> ir.Value:
    """Returns ``value`` with the shape and element type of ``result``."""
    return b.cast(b.reshape(value, ty.shape_of(result.type)), _element(result))


def _normalized(
    b: GraphBuilder, x: ir.Value, dims: Sequence[int], eps: float
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Returns (x - mean) * rstd, mean and rstd over ``dims``."""
    mean, centered, variance = moments_over(b, x, dims)
    rstd = _rstd(b, variance, eps)
    return b.op("mul", centered, rstd), mean, rstd


@decomposes("layer_norm")
def decompose_layer_norm(op, b: GraphBuilder) -> list[ir.Value]:
    """(x - mean) * rstd * weight + bias over the last dims."""
    x = b.widened(op.x)
    shape = ty.shape_of(x.type)
    rank = op.normalized_rank
    dims = range(len(shape) - rank, len(shape))
    y, mean, rstd = _normalized(b, x, dims, op.eps)
    y = _scaled(b, y, op.weight, op.bias, shape[len(shape) - rank :])
    values = zip((y, mean, rstd), op.results, strict=True)
    return [_as_result(b, value, result) for value, result in values]


@decomposes("rms_norm")
def decompose_rms_norm(op, b: GraphBuilder) -> list[ir.Value]:
    """x * rsqrt(mean(x * x) + eps) * weight over the last dims."""
    x = b.widened(op.x)
    shape = ty.shape_of(x.type)
    rank = op.normalized_rank
    dims = range(len(shape) - rank, len(shape))
    rstd = _rstd(b, mean_over(b, b.op("mul", x, x), dims), op.eps)
    y = _scaled(b, b.op("mul", x, rstd), op.weight, None, shape[len(shape) - rank :])
    return [_as_result(b, y, op.y)]


@decomposes("group_norm")
def decompose_group_norm(op, b: GraphBuilder) -> list[ir.Value]:
    """(x - mean) * rstd * weight + bias, statistics over a group of channels.

    All is computed in the shape [n, groups, channels of a group, ...].
    """
    x = b.widened(op.x)
    batch, channels, *spatial = ty.shape_of(x.type)
    split = (op.groups, channels // op.groups)
    x = b.reshape(x, (batch, *split, *spatial))
    y, mean, rstd = _normalized(b, x, range(2, 3 + len(spatial)), op.eps)
    parameters = (*split, *(1 for _ in spatial))
    y = _scaled(b, y, op.weight, op.bias, parameters)
    values = zip((y, mean, rstd), op.results, strict=True)
    return [_as_result(b, value, result) for value, result in values]


def _by_channel(x: ir.Value) -> tuple:
    """Returns the shape in which a value for each channel broadcasts with ``x``."""
    shape = ty.shape_of(x.type)
    return (shape[1], *(1 for _ in shape[2:]))


@decomposes("batch_norm")
def decompose_batch_norm(op, b: GraphBuilder) -> list[ir.Value]:
    """x * scale + shift, both for each channel, as ATen computes it."""
    x = b.widened(op.x)
    element = _element(x)
    mean = b.cast(op.running_mean, element)
    scale = _rstd(b, b.cast(op.running_var, element), op.eps)
    if op.weight is not None:
        scale = b.op("mul", scale, b.cast(op.weight, element))
    shift = b.op("neg", b.op("mul", mean, scale))
    if op.bias is not None:
        shift = b.op("add", shift, b.cast(op.bias, element))
    y = _scaled(b, x, scale, shift, _by_channel(x))
    return [_as_result(b, y, op.y)]


@decomposes("batch_norm_training")
def decompose_batch_norm_training(op, b: GraphBuilder) -> list[ir.Value]:
    """(x - mean) * rstd * weight + bias, statistics of each channel."""
    x = b.widened(op.x)
    dims = [dim for dim in range(len(ty.shape_of(x.type))) if dim != 1]
    y, mean, rstd = _normalized(b, x, dims, op.eps)
    y = _scaled(b, y, op.weight, op.bias, _by_channel(x))
    values = zip((y, mean, rstd), op.results, strict=True)
    return [_as_result(b, value, result) for value, result in values]
