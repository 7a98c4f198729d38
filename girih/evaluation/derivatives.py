"""Evaluation of the ops of differentiation: their values, and torch's derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from girih.evaluation.state import evaluates


@evaluates("detach")
def _detach(state, op, x):
    return x.detach()


@evaluates("alias")
def _alias(state, op, x):
    return x


class _Substitute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, original: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        return None, gradient


@evaluates("substitute")
def _substitute(state, op, value, original):
    return _Substitute.apply(value, original)


class _CustomVjp(torch.autograd.Function):
    """Values, with the derivative that a region says."""

    @staticmethod
    def forward(ctx: Any, run: Callable, count: int, *operands: Tensor) -> tuple:
        ctx.run, ctx.count = run, count
        ctx.shapes = [operand.shape for operand in operands[count:]]
        return tuple(value.clone() for value in operands[:count])

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple:
        gradients = zip(ctx.run(cotangents), ctx.shapes, strict=True)
        full = (gradient.broadcast_to(shape) for gradient, shape in gradients)
        return None, None, *[None] * ctx.count, *full


@evaluates("custom_vjp")
def _custom_vjp(state, op, *operands):
    block = op.body.blocks[0]

    def run(cotangents: tuple) -> list[Tensor]:
        given = [*cotangents, *results]
        for argument, value in zip(block.arguments, given, strict=False):
            state.values[argument] = value
        return state.run(block)

    results = _CustomVjp.apply(run, len(op.results), *operands)
    return list(results)
