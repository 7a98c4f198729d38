"""Graphs that can't be compiled because they are wrong: eager says so, nobody else.

Fake tensors accept some of what kernels refuse (a product of two dtypes, a softmax of
integers), so a mistake of the user can come as far as a pass, which fails. Whether that
is girih's fault is known once eager has run the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


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
    """Whether eager refuses a graph for tensors of ones like its example inputs."""
    try:
        with torch.random.fork_rng(devices=()):
            gm.forward(*map(_of_ones, example_inputs))
    except torch.OutOfMemoryError:
        return False
    except Exception:
        return True
    return False


def _of_ones(value: Any) -> Any:
    """A real value like a fake one."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value.node.hint
    if not isinstance(value, torch.Tensor):
        return value
    sizes = [_of_ones(size) for size in value.shape]
    made = torch.ones(sizes, dtype=value.dtype, device=value.device)
    return made.requires_grad_(value.requires_grad)
