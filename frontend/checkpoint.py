"""``torch.utils.checkpoint`` as an operation of a graph."""

from __future__ import annotations

from typing import Any

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
        """What the module computes; its tensors are made anew for the backward."""
        return _run_checkpoint(module, *values, use_reentrant=False, **self.options)
