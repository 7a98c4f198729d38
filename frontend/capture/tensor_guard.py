"""Guards on tensors: torch's own checker, asked about as few of them as possible.

``_tensors.c`` says how parameters and buffers are recognised without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch._C._dynamo.guards import TensorGuards

from girih.frontend.capture import tensor_layout


class TensorChecks(NamedTuple):
    """What ``_frame.Guards`` takes about the tensors of an entry.

    Attributes:
        all: Torch's check of all of them, a function of the tensors.
        statics: None, or the check of some, the slots of these, how many of them are
            not static, and the slots of all that are.
    """

    all: Callable[..., bool]
    statics: tuple[Callable[..., bool], tuple, int, tuple] | None


def tensor_checks(inputs: list[Any], evaluator) -> TensorChecks | None:
    """The checks of the tensors among a graph's inputs.

    Args:
        inputs: The ``graph.Input`` of each tensor, in the order of the slots.
        evaluator: Knows which sizes and strides are to be checked.
    """
    if not inputs:
        return None
    layouts = [evaluator.layout_of(given) for given in inputs]

    def check(slots):
        return TensorGuards(
            *[inputs[slot].real for slot in slots],
            dynamic_dims_sizes=[layouts[slot][0] for slot in slots],
            dynamic_dims_strides=[layouts[slot][1] for slot in slots],
        ).check

    return TensorChecks(check(range(len(inputs))), _statics(inputs, check))


def _statics(inputs: list[Any], check):
    statics = tuple(slot for slot, given in enumerate(inputs) if _is_static(given))
    if not statics or not tensor_layout.is_known():
        return None
    others = sorted(set(range(len(inputs))) - set(statics))
    samples = {_dispatch_keys(inputs[slot].real): slot for slot in statics}
    few = (*others, *samples.values())
    return check(few), few, len(others), statics


def _is_static(given: Any) -> bool:
    return given.is_static and given.real.device.type == "cpu"


def _dispatch_keys(tensor: torch.Tensor) -> int:
    """The bits of a tensor's dispatch keys."""
    return torch._C._dispatch_keys(tensor).raw_repr()
