"""What the meta kernels of operators that write do not check: dtypes.

They look at sizes alone, and the error that eager raises comes when a graph runs, which
may have written other tensors by then.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree

# What errors about dtypes say; those about sizes come from the meta kernels.
_SAID = (
    "can't be cast to the desired output type",
    "with two bool tensors is not supported",
    "argument alpha must not be a floating point number",
)


def check_write(func: Any, args: tuple, kwargs: dict) -> None:
    """Raises eager's error where what an operator computes can't be written.

    Args:
        func: An ATen overload that writes its first argument, for which no shape rule
            says that the result fits.
        args: Its arguments, with tensors that have no data.
        kwargs: The others.

    Raises:
        RuntimeError: Torch's own, from a run with one element in each tensor.
    """
    real_args, real_kwargs = _pytree.tree_map(_of_one_element, (args, kwargs))
    try:
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            func(*real_args, **real_kwargs)
    except Exception as error:
        if any(text in str(error) for text in _SAID):
            raise RuntimeError(str(error)) from None


def _of_one_element(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.zeros([1] * value.dim(), dtype=value.dtype)
    return 1 if isinstance(value, torch.SymInt) else value
