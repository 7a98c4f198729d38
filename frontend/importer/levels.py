"""Levels of ``torch.func`` and of forward mode, as nodes of a graph.

TorchDynamo writes a transform out: nodes enter a level, wrap tensors for it, and leave
it. Importing runs them as they are. What they compute comes to the recorder as calls of
ATen on plain tensors; the tensors between are wrappers, which torch's autograd watches.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._C import _functorch as functorch
from torch._functorch import predispatch
from torch.amp import autocast_mode

from girih.frontend.capture.switches import WRITES, preserved


def known(*names: str) -> tuple[Callable, ...]:
    """Functions that this version of torch has, of those that precede dispatch."""
    found = (getattr(predispatch, name, None) for name in names)
    return tuple(function for function in found if function is not None)


_ENTER = (
    functorch._grad_increment_nesting,
    functorch._vmap_increment_nesting,
    functorch._jvp_increment_nesting,
    functorch._func_increment_nesting,
    # Those of the second kind came with torch 2.12, but for that of vmap.
    *known("_vmap_increment_nesting", "_jvp_increment_nesting", "_enter_dual_level"),
)
# Of other state.
_REGIONS = (torch._C._set_grad_enabled, autocast_mode._enter_autocast)


def enters_levels(gm: torch.fx.GraphModule) -> bool:
    """Whether a graph, or a graph in it, enters a level."""
    graphs = (m.graph for m in gm.modules() if isinstance(m, torch.fx.GraphModule))
    return any(
        graph.find_nodes(op="call_function", target=target)
        for graph in graphs
        for target in _ENTER
    )


def eager_run(gm: torch.fx.GraphModule) -> Callable:
    """Runs a graph as it is; where it raises, torch's state is what it was before.

    TorchDynamo leaves levels, grad mode and regions by nodes, which are not reached.
    """
    changes = (
        node.op == "call_function"
        and (node.target in _ENTER or node.target in _REGIONS or node.target in WRITES)
        for node in gm.graph.nodes
    )
    return preserved()(gm.forward) if any(changes) else gm.forward


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether a tensor stands for another one at a level, or at one that was left."""
    return functorch.is_functorch_wrapped_tensor(tensor)
