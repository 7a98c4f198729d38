"""What the node of a write to a view keeps, which autograd does not show.

Autograd gives the whole of which a view was written a node ``CopySlices``. It has the
node of the write inside, with all that this one keeps: ``relu_`` its result, ``mul_``
the other factor. Nothing leads to it from Python. So the node is called, on a fake
gradient, and the calls of the operations inside show what they are given.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from girih.frontend.importer.edges import tells_of_a_write


class Found(NamedTuple):
    """What was found behind a node.

    Attributes:
        tensors: What is kept.
        error: What eager raises, where that was written since.
    """

    tensors: list[torch.Tensor]
    error: str | None = None


def is_written_view(node: Any) -> bool:
    """Whether a node of autograd stands for a whole whose view was written."""
    # A node of the program's Function has attributes, of which one may be `name`.
    return type(node).__name__ == "CopySlices"


def kept_inside(node: Any, example: torch.Tensor) -> Found:
    """What such a node keeps.

    Args:
        node: The node.
        example: A fake tensor of the program, of which the sizes are known.
    """
    if not isinstance(example, FakeTensor):
        return Found([])
    mode = example.fake_mode
    (shape,) = node._input_metadata
    with torch.no_grad(), mode, without_guards(mode.shape_env):
        given = torch.empty(shape.shape, dtype=shape.dtype, device=shape.device)
        seen = _Seen(given)
        try:
            with seen:
                node(given)
        except RuntimeError as error:
            if not tells_of_a_write(error):
                raise
            return Found(list(seen.found.values()), str(error))
    return Found(list(seen.found.values()))


def without_guards(shape_env: Any) -> AbstractContextManager:
    """Where sizes are compared, and the program depends on none of that."""
    return nullcontext() if shape_env is None else shape_env.suppress_guards()


class _Seen(TorchDispatchMode):
    """Notes the tensors that operations take and none of them has made."""

    def __init__(self, given: torch.Tensor):
        super().__init__()
        self.made = {_memory(given): given}
        self.found: dict[int, torch.Tensor] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for tensor in _tensors((args, kwargs)):
            if _memory(tensor) not in self.made:
                self.found[_memory(tensor)] = tensor
        result = func(*args, **kwargs)
        for tensor in _tensors(result):
            if _memory(tensor) not in self.found:
                self.made[_memory(tensor)] = tensor
        return result


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(values) if torch.is_tensor(leaf)]


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
