"""``torch.utils.checkpoint`` as an operation of a graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

# Without the wrapper that loads TorchDynamo only to keep it away.
_run_checkpoint = getattr(checkpoint, "__wrapped__", checkpoint)


class Checkpoint:
    """An operation: ``torch.utils.checkpoint`` of a graph module.

    Args:
        options: Its keyword arguments.
    """

    __name__ = "checkpoint"

    def __init__(self, options: dict[str, Any]):
        self.options = options

    def __call__(self, module, *values) -> tuple:
        """What the module computes; its tensors are made anew for the backward.

        An argument is saved, so it must not be written; what the module takes from its
        surroundings, as buffers that it writes, is not. In a graph all are values:
        those that require a gradient are arguments.
        """
        places = [place for place, value in enumerate(values) if _is_argument(value)]
        given = list(values)
        for place in places:
            given[place] = None  # held by autograd alone

        def run(*arguments: Any) -> tuple:
            taken = list(given)
            for place, argument in zip(places, arguments, strict=True):
                taken[place] = argument
            return module(*taken)

        arguments = [values[place] for place in places]
        return _run_checkpoint(run, *arguments, use_reentrant=False, **self.options)


def _is_argument(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad
