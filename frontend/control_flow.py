"""Control flow that is an operation, in Python over bodies: ``torch.cond``.

Devices and errors are those of the operations inside; so are gradients, but that each
result depends on all that the bodies are given, as in eager.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


class _Link(torch.autograd.Function):
    """Copies of results, which depend on operands by zeros."""

    @staticmethod
    def forward(ctx, count: int, *values: Tensor) -> tuple:
        """Args: how many of the values are results; the others are operands."""
        ctx.operands = [(x.shape, x.dtype, x.device) for x in values[count:]]
        return tuple(value.clone() for value in values[:count])

    @staticmethod
    def backward(ctx, *cotangents: Tensor) -> tuple:
        """The results' gradients, and zeros."""
        zeros = [
            torch.zeros(shape, dtype=dtype, device=device)
            for shape, dtype, device in ctx.operands
        ]
        return (None, *cotangents, *zeros)


def linked(results: Any, operands: Sequence[Any]) -> tuple:
    """What an operation gives that calls functions: ``torch.cond``, ``while_loop``.

    To autograd each result is made of all operands, also of those that the branch
    which was taken does not use: their gradient is zeros, not None. And no result is
    one of the operands.

    Args:
        results: What its bodies gave.
        operands: All that they were given.
    """
    results = as_tuple(results)
    if any(result is operand for result in results for operand in operands):
        results = tuple(_copied(result) for result in results)
    required = [x for x in operands if isinstance(x, Tensor) and x.requires_grad]
    places = [n for n, result in enumerate(results) if has_gradient(result)]
    if not required or not places or not torch.is_grad_enabled():
        return results
    made = _Link.apply(len(places), *(results[n] for n in places), *required)
    by_place = dict(zip(places, made, strict=True))
    return tuple(by_place.get(n, result) for n, result in enumerate(results))


def as_tuple(value: Any) -> tuple:
    """What a body gives, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def has_gradient(value: Any) -> bool:
    """Whether a value is of a kind that has gradients."""
    if not isinstance(value, Tensor):
        return False
    return value.dtype.is_floating_point or value.dtype.is_complex


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def choose(on_true: Callable, on_false: Callable, predicate, operands=()) -> tuple:
    """``torch.cond``."""
    branch = on_true if predicate else on_false
    return linked(branch(*operands), operands)


def repeat(condition: Callable, body: Callable, carried, additional=()) -> tuple:
    """``while_loop``."""
    values = tuple(carried)
    while _only(condition(*values, *additional)):
        values = as_tuple(body(*values, *additional))
    return linked(values, (*carried, *additional))


def map_rows(body: Callable, arrays: Sequence[Tensor], additional=()) -> tuple:
    """``map``: the body's results for each row of the arrays, stacked."""
    made = [as_tuple(body(*row, *additional)) for row in zip(*arrays, strict=True)]
    return linked(_stacked(made), (*arrays, *additional))


def scan_rows(body: Callable, carried, arrays, additional=()) -> tuple:
    """``scan``: what is carried in the end, then the other results, stacked."""
    values, made = tuple(carried), []
    for row in zip(*arrays, strict=True):
        results = as_tuple(body(*values, *row, *additional))
        values = results[: len(values)]
        made.append(results[len(values) :])
    results = (*values, *_stacked(made))
    return linked(results, (*carried, *arrays, *additional))


def _stacked(rows: list[tuple]) -> tuple:
    return tuple(torch.stack(column).contiguous() for column in zip(*rows, strict=True))


def _only(value: Any) -> Any:
    return value[0] if isinstance(value, (tuple, list)) else value
