"""Import rules of softmax and of the losses of classification.

With their gradients: transforms of ``torch.func`` bring ATen's own backward ops.
"""

from __future__ import annotations

import math

import torch

from girih.dialects.dims import Dim
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.elements import is_integral
from girih.frontend.importer.gradients import followed
from girih.frontend.importer.reduction import widened, with_dims
from girih.frontend.importer.registry import imports

# Softmax ------------------------------------------------------------------------


def _is_taken(b: Builder, given: torch.dtype, result: torch.dtype) -> bool:
    """Whether eager takes these dtypes; on the CPU it raises where they differ."""
    return given == result or b.device.type != "cpu"


def _normalize(b: Builder, name: str, x: Operand, dim: int) -> Operand:
    shape = x.shape
    x = with_dims(b, x)
    y = b.op(name, [x], {"dim": dim % x.rank}, (x.shape, x.dtype))
    return b.reshape(y, shape)


@imports("_softmax")
def softmax(b: Builder, self, dim, half_to_float=False):
    """Softmax; ``half_to_float`` computes float32 from float16."""
    if not _is_taken(b, self.dtype, b.out[0].dtype):
        return NotImplemented
    return _normalize(b, "softmax", b.cast(self, b.out[0].dtype), dim)


@imports("_log_softmax")
def log_softmax(b: Builder, self, dim, half_to_float=False):
    """Logarithm of softmax."""
    if not _is_taken(b, self.dtype, b.out[0].dtype):
        return NotImplemented
    return _normalize(b, "log_softmax", b.cast(self, b.out[0].dtype), dim)


@imports("_safe_softmax")
def safe_softmax(b: Builder, self, dim, dtype=None):
    """Softmax that is 0 where a whole row is -inf."""
    x = with_dims(b, b.cast(self, b.out[0].dtype))
    dim %= x.rank
    zero = b.constant(0, x.dtype)
    lowest = b.compare("eq", x, b.constant(-math.inf, x.dtype))
    masked = b.reduce("reduce_all", lowest, [dim])
    # Masked before, too: the derivative of what is masked after would be NaN.
    y = _normalize(b, "softmax", b.where(masked, zero, x), dim)
    return b.reshape(b.where(masked, zero, y), b.out[0].shape)


def _row_sum(b: Builder, x: Operand, dim: int) -> Operand:
    return b.reduce("reduce_sum", x, [dim % x.rank]) if x.rank else x


@imports("_softmax_backward_data")
def softmax_backward(b: Builder, grad_output, output, dim, input_dtype):
    """y (g - sum(g y))."""
    if not _is_taken(b, input_dtype, grad_output.dtype):
        return NotImplemented
    g, y = widened(b, grad_output), widened(b, output)
    total = _row_sum(b, b.mul(g, y), dim)
    return b.cast(b.mul(y, b.sub(g, total)), b.out[0].dtype)


@imports("_log_softmax_backward_data")
def log_softmax_backward(b: Builder, grad_output, output, dim, input_dtype):
    """g - exp(y) sum(g)."""
    if not _is_taken(b, input_dtype, grad_output.dtype):
        return NotImplemented
    g, y = widened(b, grad_output), widened(b, output)
    share = b.mul(b.unary("exp", y), _row_sum(b, g, dim))
    return b.cast(b.sub(g, share), b.out[0].dtype)


# Negative log-likelihood ----------------------------------------------------------


def _labels(
    b: Builder, x: Operand, target: Operand, ignore_index: int
) -> tuple[Operand, Operand]:
    """The classes, with size 1 in the dim of classes, and which ones are ignored."""
    axis = min(x.rank - 1, 1)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    column = b.reshape(b.cast(target, torch.int64), shape)
    ignored = b.compare("eq", column, b.constant(ignore_index, torch.int64))
    return b.where(ignored, b.constant(0, torch.int64), column), ignored


def _is_native(x: Operand, ignore_index) -> bool:
    return not isinstance(ignore_index, Dim) and not is_integral(x.dtype)


@imports("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(b: Builder, self, target, weight, reduction, ignore_index):
    """-self[n, target[n]] * weight[target[n]], and the sum of the weights."""
    # A sum over no classes would look at memory where there is no class.
    if not _is_native(self, ignore_index) or 0 in target.shape:
        return NotImplemented
    self, zero = followed(b, self), b.constant(0, self.dtype)
    label, ignored = _labels(b, self, target, ignore_index)
    attributes = {"dim": min(self.rank - 1, 1)}
    picked = b.op("gather", [self, label], attributes, (label.shape, self.dtype))
    loss = b.unary("neg", picked)
    weights = b.constant(1, self.dtype) if weight is None else b.take(weight, label, 0)
    if weight is not None:
        loss = b.mul(loss, weights)
    loss = b.where(ignored, zero, loss)
    weights = b.where(ignored, zero, weights)
    if reduction == 0 and self.rank > 1:
        none = b.full(b.out[1].shape, 0, self.dtype)
        return b.reshape(loss, b.out[0].shape), none
    every = range(label.rank)
    total_loss = b.reshape(b.reduce("reduce_sum", loss, every), ())
    total_weight = b.reshape(b.reduce("reduce_sum", weights, every), ())
    if reduction == 1:
        total_loss = b.div(total_loss, total_weight)
    return total_loss, total_weight


@imports("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(
    b: Builder, grad_output, self, target, weight, reduction, ignore_index, total_weight
):
    """-g * weight[target[n]] at the target, 0 elsewhere."""
    if not _is_native(self, ignore_index):
        return NotImplemented
    label, ignored = _labels(b, self, target, ignore_index)
    g = b.unary("neg", grad_output)
    if reduction == 0:
        g = b.reshape(g, label.shape)
    elif reduction == 1:
        g = b.div(g, total_weight)
    if weight is not None:
        g = b.mul(g, b.take(weight, label, 0))
    zero = b.constant(0, self.dtype)
    g = b.where(ignored, zero, g)
    classes = b.iota_along(self.shape, min(self.rank - 1, 1))
    return b.where(b.compare("eq", classes, label), g, zero)
