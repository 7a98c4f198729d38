"""Graphs that can't be compiled because they are wrong: eager says so, nobody else.

Fake tensors accept some of what kernels refuse (a product of two dtypes, a softmax of
integers), so a mistake of the user can come as far as a pass, which fails. Whether that
is girih's fault is known once eager has run the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree

CPU = torch.device("cpu")


def told_after_eager(run: Callable, tell: Callable[[], None]) -> Callable:
    """A graph that runs eager, which is told once that went well.

    Args:
        run: Runs it eager.
        tell: Says why it is not compiled; called once.
    """
    is_told = False

    def decide(*arguments: Any) -> Any:
        nonlocal is_told
        results = run(*arguments)
        if not is_told:
            is_told = True
            tell()
        return results

    return decide


def raises_in_eager(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> bool:
    """Whether eager refuses a graph for tensors of ones like its example inputs.

    It runs on the processor, wherever the graph's own tensors are: a 1 may be an index
    out of range, which ends a device's context, and with it the user's program.
    """
    try:
        with torch.random.fork_rng(devices=()), _OnProcessor():
            gm.forward(*map(_of_ones, example_inputs))
    except torch.OutOfMemoryError:
        return False
    except Exception:
        return True
    return False


def _of_ones(value: Any) -> Any:
    """A real value like a fake one, on the processor."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value.node.hint
    if not isinstance(value, torch.Tensor):
        return value
    sizes = [_of_ones(size) for size in value.shape]
    made = torch.ones(sizes, dtype=value.dtype, device=CPU)
    return made.requires_grad_(value.requires_grad)


class _OnProcessor(TorchFunctionMode):
    """What the block makes on a device or sends there is on the processor."""

    def __torch_function__(self, func, types, args=(), kwargs=None) -> Any:
        if func is torch.device:
            return _here(func(*args, **(kwargs or {})))
        if func is torch.Tensor.cuda:
            return args[0]
        here, named = _pytree.tree_map(_here, (args, kwargs or {}))
        return func(*here, **named)


def _here(value: Any) -> Any:
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return CPU
    return CPU if isinstance(value, torch.device) and value.type != "meta" else value
