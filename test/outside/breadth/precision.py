"""Whether a computation in float64 really was one."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

ROUNDING = {torch.float16, torch.bfloat16, torch.float32, torch.complex64}


class RoundingOperations(TorchDispatchMode):
    """Notes which operations of the block give less than float64.

    Some models compute in float32 whatever their parameters are (positions, rotations,
    masks): then two right results are only as near to each other as float32 says.
    """

    def __init__(self):
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None) -> Any:
        results = func(*args, **(kwargs or {}))
        for leaf in pytree.tree_leaves(results):
            if isinstance(leaf, torch.Tensor) and leaf.dtype in ROUNDING:
                self.names.add(str(func))
        return results
