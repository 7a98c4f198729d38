"""Evaluation of the composite and library ops of ``graph``, and of ATen calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from girih.codegen.runtime import program, torch_entry  # noqa: F401  (registers ops)
from girih.dialects.attributes import LAYOUTS, OperandRef, TorchConstant
from girih.dialects.dims import Dim
from girih.evaluation.state import State, evaluates

# Composites ---------------------------------------------------------------------


@evaluates("softmax")
def _softmax(state, op, x):
    return x.softmax(op.dim)


@evaluates("log_softmax")
def _log_softmax(state, op, x):
    return x.log_softmax(op.dim)


def _optional(op, operands: tuple, names: tuple[str, ...]) -> list:
    """The operands with None for those that are left out."""
    remaining = iter(operands)
    return [None if getattr(op, name) is None else next(remaining) for name in names]


def _statistics(
    state, op, results: Sequence[Tensor], x: Tensor, dims: Sequence[int]
) -> list[Tensor]:
    """Statistics in the dtypes of the result types.

    Where torch's autograd watches they are written out: its own have no derivative.
    """
    if x.requires_grad and torch.is_grad_enabled():
        variance, mean = torch.var_mean(x, tuple(dims), correction=0)
        rstd = (variance + op.eps).rsqrt()
        shape = results[1].shape
        results = [results[0], mean.reshape(shape), rstd.reshape(shape)]
    return [
        result.to(state.dtype(value.type))
        for value, result in zip(op.results, results, strict=True)
    ]


@evaluates("layer_norm")
def _layer_norm(state, op, x, *rest):
    weight, bias = _optional(op, rest, ("weight", "bias"))
    shape = list(x.shape[x.dim() - op.normalized_rank :])
    results = torch.native_layer_norm(x, shape, weight, bias, op.eps)
    dims = range(x.dim() - op.normalized_rank, x.dim())
    return _statistics(state, op, results, x, dims)


@evaluates("rms_norm")
def _rms_norm(state, op, x, *rest):
    (weight,) = _optional(op, rest, ("weight",))
    shape = list(x.shape[x.dim() - op.normalized_rank :])
    return torch.rms_norm(x, shape, weight, op.eps)


@evaluates("group_norm")
def _group_norm(state, op, x, *rest):
    weight, bias = _optional(op, rest, ("weight", "bias"))
    batch, channels = x.shape[:2]
    inner = math.prod(x.shape[2:])
    results = torch.ops.aten.native_group_norm(
        x.contiguous(), weight, bias, batch, channels, inner, op.groups, op.eps
    )
    size = channels // op.groups * inner
    return _statistics(state, op, results, x.reshape(batch, op.groups, size), [2])


@evaluates("batch_norm")
def _batch_norm(state, op, x, *rest):
    names = ("weight", "bias", "running_mean", "running_var")
    weight, bias, mean, variance = _optional(op, rest, names)
    statistics = mean.detach(), variance.detach()
    return torch.nn.functional.batch_norm(
        x, *statistics, weight, bias, training=False, eps=op.eps
    )


@evaluates("batch_norm_training")
def _batch_norm_training(state, op, x, *rest):
    weight, bias = _optional(op, rest, ("weight", "bias"))
    results = torch.native_batch_norm(x, weight, bias, None, None, True, 0.0, op.eps)
    dims = [dim for dim in range(x.dim()) if dim != 1]
    return _statistics(state, op, results, x, dims)


@evaluates("clamp")
def _clamp(state, op, x, *bounds):
    low, high = _optional(op, bounds, ("low", "high"))
    return torch.clamp(x, low, high)


# Library ops --------------------------------------------------------------------


@evaluates("mm")
def _mm(state, op, x, y):
    return torch.mm(x, y)


@evaluates("bmm")
def _bmm(state, op, x, y):
    return torch.bmm(x, y)


@evaluates("addmm")
def _addmm(state, op, bias, x, y):
    return torch.addmm(bias, x, y, beta=op.beta, alpha=op.alpha)


@evaluates("baddbmm")
def _baddbmm(state, op, bias, x, y):
    return torch.baddbmm(bias, x, y, beta=op.beta, alpha=op.alpha)


@evaluates("linear")
def _linear(state, op, x, weight, *bias):
    return torch.nn.functional.linear(x, weight, *bias)


@evaluates("convolution")
def _convolution(state, op, x, weight, *bias):
    return torch.ops.aten.convolution(
        x,
        weight,
        bias[0] if bias else None,
        list(op.stride),
        [state.number(n) for n in op.padding],
        list(op.dilation),
        op.transposed,
        [state.number(n) for n in op.output_padding],
        op.groups,
    )


@evaluates("attention")
def _attention(state, op, query, key, value, *mask):
    logits = query @ key.transpose(-1, -2) * op.scale
    if op.causal:
        rows, columns = logits.shape[-2:]
        visible = torch.ones(rows, columns, dtype=torch.bool).tril()
        logits = logits.masked_fill(~visible, -math.inf)
    if mask:
        if mask[0].dtype == torch.bool:
            logits = logits.masked_fill(~mask[0], -math.inf)
        else:
            logits = logits + mask[0]
    lse = logits.logsumexp(-1)
    weights = torch.ops.aten._safe_softmax(logits, -1)
    return weights @ value, lse.to(state.dtype(op.results[1].type))


@evaluates("dropout")
def _dropout(state, op, x):
    return torch.native_dropout(x, op.p, True)


@evaluates("cumsum")
def _cumsum(state, op, x):
    return x.cumsum(op.dim, dtype=x.dtype)


@evaluates("cumprod")
def _cumprod(state, op, x):
    return x.cumprod(op.dim, dtype=x.dtype)


@evaluates("logcumsumexp")
def _logcumsumexp(state, op, x):
    return x.logcumsumexp(op.dim)


@evaluates("scan_max")
def _scan_max(state, op, x):
    return x.cummax(op.dim).values


@evaluates("scan_min")
def _scan_min(state, op, x):
    return x.cummin(op.dim).values


@evaluates("cummax")
def _cummax(state, op, x):
    return x.cummax(op.dim)


@evaluates("cummin")
def _cummin(state, op, x):
    return x.cummin(op.dim)


@evaluates("topk")
def _topk(state, op, x):
    return torch.topk(x, state.number(op.k), op.dim, op.largest, op.sorted)


@evaluates("sort")
def _sort(state, op, x):
    return torch.sort(x, dim=op.dim, descending=op.descending, stable=op.stable)


@evaluates("max_pool")
def _max_pool(state, op, x):
    window = [list(v) for v in (op.kernel, op.stride, op.padding, op.dilation)]
    pool = {2: torch.ops.aten.max_pool2d_with_indices}
    pool[3] = torch.ops.aten.max_pool3d_with_indices
    return pool[len(window[0])](x, *window, op.ceil_mode)


@evaluates("avg_pool")
def _avg_pool(state, op, x):
    window = [list(v) for v in (op.kernel, op.stride, op.padding)]
    pool = {2: torch.ops.aten.avg_pool2d, 3: torch.ops.aten.avg_pool3d}
    modes = (op.ceil_mode, op.count_include_pad, op.divisor or None)
    return pool[len(window[0])](x, *window, *modes)


@evaluates("adaptive_avg_pool")
def _adaptive_avg_pool(state, op, x):
    sizes = [state.number(n) for n in op.output_size]
    pool = {2: torch.ops.aten._adaptive_avg_pool2d}
    pool[3] = torch.ops.aten._adaptive_avg_pool3d
    return pool[len(sizes)](x, sizes)


# Calls of ATen ------------------------------------------------------------------


def argument_of(state: State, value: Any, operands: Sequence[Tensor]) -> Any:
    """An argument of an ATen call."""
    match value:
        case OperandRef(index):
            return operands[index]
        case Dim():
            return state.number(value)
        case TorchConstant("device", name):
            return torch.device(name)
        case TorchConstant(_, name):
            return getattr(torch, name)
        case tuple():
            return [argument_of(state, item, operands) for item in value]
    return value


def tensors_of(result: Any) -> list[Tensor]:
    """The tensors among what an ATen call returns."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [tensor for item in result for tensor in tensors_of(item)]
    return []


def _laid_out(state: State, op: Any, operands: Sequence[Tensor]) -> list[Tensor]:
    """The operands with the strides that the op's results are promised for."""
    if "operand_strides" not in op.attributes:
        return [tensor.contiguous() for tensor in operands]
    layouts = LAYOUTS.decode(op.attributes["operand_strides"])
    placed = []
    for tensor, layout in zip(operands, layouts, strict=True):
        strides = tuple(state.number(stride) for stride in layout)
        if tensor.stride() != strides:
            placement = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype)
            tensor = placement.copy_(tensor)
        placed.append(tensor)
    return placed


@evaluates("extern")
def _extern(state, op, *operands):
    func = torch_entry.entry(op.op)
    operands = _laid_out(state, op, operands)
    args = [argument_of(state, value, operands) for value in op.args]
    kwargs = {k: argument_of(state, v, operands) for k, v in op.kwargs.items()}
    made = tensors_of(func(*args, **kwargs))
    if not state.precise:
        return made
    # An argument may name a dtype, so not all are wide.
    return [x.double() if x.is_floating_point() else x for x in made]
