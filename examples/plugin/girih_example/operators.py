"""Torch operators of our own: what eager runs, and what girih imports.

An operator is Python, with a fake implementation for shapes and, where it is wanted in
eager, a derivative. girih needs the first two; it has derivatives of its own.
"""

import torch
from torch import Tensor


@torch.library.custom_op("example::softclip", mutates_args=())
def softclipped(x: Tensor, limit: float) -> Tensor:
    """``limit * tanh(x / limit)``: x, softly kept between -limit and limit."""
    return limit * torch.tanh(x / limit)


@softclipped.register_fake
def _(x, limit):
    return torch.empty_like(x)


def _keep(ctx, inputs, output):
    ctx.limit = inputs[1]
    ctx.save_for_backward(output)


def _derive(ctx, gradient):
    (y,) = ctx.saved_tensors
    return gradient * (1 - (y / ctx.limit) ** 2), None


softclipped.register_autograd(_derive, setup_context=_keep)


@torch.library.custom_op("example::gated", mutates_args=())
def gated(x: Tensor, gate: Tensor, limit: float) -> Tensor:
    """``softclip(x, limit) * sigmoid(gate)``."""
    return limit * torch.tanh(x / limit) * torch.sigmoid(gate)


@gated.register_fake
def _(x, gate, limit):
    return x.new_empty(torch.broadcast_shapes(x.shape, gate.shape))


@torch.library.custom_op("example::running_sum", mutates_args=())
def running_sum(x: Tensor, dim: int) -> Tensor:
    """``x.cumsum(dim)``; it stands for a kernel that somebody wrote by hand."""
    return x.cumsum(dim)


@running_sum.register_fake
def _(x, dim):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op("example::mm_softclip", mutates_args=())
def mm_softclip(x: Tensor, w: Tensor, limit: float) -> Tensor:
    """``softclip(x @ w, limit)``, as a kernel would compute it in one go."""
    y = x @ w
    return y.div_(limit).tanh_().mul_(limit)


@mm_softclip.register_fake
def _(x, w, limit):
    return x.new_empty(x.shape[0], w.shape[1])


@torch.library.custom_op("example::polynomial", mutates_args=())
def polynomial_of(x: Tensor, coefficients: list[int]) -> Tensor:
    """``c[0] + c[1] * x + c[2] * x**2 + ...`` for each element of x."""
    y = torch.zeros_like(x)
    for coefficient in reversed(coefficients):
        y = y * x + coefficient
    return y


@polynomial_of.register_fake
def _(x, coefficients):
    return torch.empty_like(x)
