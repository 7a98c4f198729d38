"""Operations that can't be evaluated with symbolic sizes, and can with sizes.

Some derivatives ask a fake tensor what it does not tell where its sizes are symbols.
The capture starts again then, and the sizes of the inputs are guarded by value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from girih.frontend.capture.evaluate import Evaluator, NeedsKnownSizes

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def start_again_with_sizes(tracer, target: Any, operands: list) -> None:
    """Starts the capture again if an operation can be evaluated with sizes.

    Args:
        tracer: Of the capture.
        target: The operation, which could not be evaluated.
        operands: Its arguments, without data.

    Raises:
        NeedsKnownSizes: It can.
    """
    symbols = _symbols_of(operands)
    found = []
    for given in tracer.graph.tensors:
        sizes = enumerate(given.value.fake.size())
        dims = [dim for dim, size in sizes if not symbols.isdisjoint(_names_in(size))]
        if dims:
            found.append((given, dims))
    if not found or not all(
        tracer.sizes.may_know(given.real, given.source, dims) for given, dims in found
    ):
        return
    if _can_be_evaluated(target, operands):
        for given, dims in found:
            tracer.sizes.know(given.source, dims)
        raise NeedsKnownSizes


def _can_be_evaluated(target: Any, operands: list) -> bool:
    """Whether an operation can be, on tensors like those of the running call."""
    evaluator = Evaluator()
    with evaluator.mode:
        known = [_like(operand) for operand in operands]
    try:
        evaluator.run("call_function", target, known, {})
    except Exception:
        return False
    return True


def _like(operand: Any) -> Any:
    if isinstance(operand, _SYMBOLIC):
        return operand.node.hint
    if not isinstance(operand, torch.Tensor):
        return operand
    sizes, strides = (
        tuple(map(_like, numbers)) for numbers in (operand.size(), operand.stride())
    )
    made = torch.empty_strided(
        sizes, strides, dtype=operand.dtype, device=operand.device
    )
    return made.requires_grad_(operand.requires_grad)


def _symbols_of(values: Iterable[Any]) -> set:
    found: set = set()
    for value in values:
        parts = value.size() if isinstance(value, torch.Tensor) else (value,)
        for part in parts:
            found |= _names_in(part)
    return found


def _names_in(number: Any) -> set:
    """The symbols of a number, also of one that is known by now."""
    return number.node._expr.free_symbols if isinstance(number, _SYMBOLIC) else set()
