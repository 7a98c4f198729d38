"""torch's global state: grad mode, autocast and the rest."""

from __future__ import annotations

import torch
from torch._C._dynamo.guards import GlobalStateGuard
from torch.amp import autocast_mode


class TorchState:
    """Follows the changes that the traced program makes to grad mode and autocast.

    The state is really switched while tracing, so that evaluated operations see it, and
    each switch is a node of the graph, as TorchDynamo makes it.
    """

    def __init__(self, graph):
        self._graph = graph
        self._grad_at_start = torch.is_grad_enabled()
        self._regions: list[tuple] = []  # (manager, mode, node), innermost last

    def set_grad(self, enabled: bool) -> None:
        """Switches grad mode."""
        if enabled == torch.is_grad_enabled():
            return
        torch._C._set_grad_enabled(enabled)
        self._graph.add_effect(torch._C._set_grad_enabled, (enabled,))

    def enter_autocast(self, manager, settings: list) -> None:
        """Enters an autocast region, given device, dtype, enabled, cache."""
        node = self._graph.add_effect(autocast_mode._enter_autocast, tuple(settings))
        mode = autocast_mode._enter_autocast(*settings)
        self._regions.append((manager, mode, node))

    def exit_autocast(self, manager) -> None:
        """Leaves the innermost autocast region."""
        entered, mode, node = self._regions.pop()
        assert entered is manager, "girih bug: autocast regions are not nested"
        self._graph.add_effect(autocast_mode._exit_autocast, (node,))
        autocast_mode._exit_autocast(mode)

    @property
    def is_changed(self) -> bool:
        """Whether the state is not what it was at the start."""
        is_same_mode = torch.is_grad_enabled() == self._grad_at_start
        return bool(self._regions) or not is_same_mode

    def restore(self) -> None:
        """Goes back to the state at the start."""
        while self._regions:
            autocast_mode._exit_autocast(self._regions.pop()[1])
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
