"""torch's global state: grad mode and the rest."""

from __future__ import annotations

import torch
from torch._C._dynamo.guards import GlobalStateGuard


class TorchState:
    """Follows the changes that the traced program makes to grad mode.

    The mode is really switched while tracing, so that evaluated operations see it, and
    each switch is a node of the graph, as TorchDynamo makes it.
    """

    def __init__(self, graph):
        self._graph = graph
        self._grad_at_start = torch.is_grad_enabled()

    def set_grad(self, enabled: bool) -> None:
        """Switches grad mode."""
        if enabled == torch.is_grad_enabled():
            return
        torch._C._set_grad_enabled(enabled)
        self._graph.add_effect(torch._C._set_grad_enabled, (enabled,))

    @property
    def is_changed(self) -> bool:
        """Whether grad mode is not what it was at the start."""
        return torch.is_grad_enabled() != self._grad_at_start

    def restore(self) -> None:
        """Switches back to the mode at the start."""
        torch._C._set_grad_enabled(self._grad_at_start)


def state_check():
    """A cheap check that torch's global state is what it is now.

    Covers grad and inference mode, autocast, deterministic algorithms, the default
    dtype, TF32 and torch-function state.
    """
    return GlobalStateGuard().check


def reason_against_capture() -> str:
    """Why the state that is on now can't be captured, or ""."""
    if torch._C._len_torch_function_stack() > 0:
        return "a torch function mode is active"
    if torch._C._len_torch_dispatch_stack() > 0:
        return "a torch dispatch mode is active"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a torch.func transform is active"
    if torch._C._get_tracing_state() is not None:
        return "torch.jit.trace is active"
    return ""
