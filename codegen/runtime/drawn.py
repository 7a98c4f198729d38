"""Programs that draw random numbers, and leave a call to eager when a check fails.

Eager begins the call again: it has to draw the numbers that the program has drawn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import torch

from girih.codegen.runtime import torch_entry
from girih.dialects.bindings import ir


class StateBefore(threading.local):
    """The state of the processor's generator before a call, for each thread."""

    state: torch.Tensor | None = None

    def note(self) -> None:
        """Keeps the state; it is the first thing that the program does."""
        self.state = torch.default_generator.get_state()

    def restoring(self, fallback: Callable) -> Callable:
        """``fallback``, called with the generator as it was before the call."""

        def called(*arguments: Any) -> Any:
            torch.default_generator.set_state(self.state)
            return fallback(*arguments)

        return called


def draws(operations: Iterable[ir.OpView]) -> bool:
    """Whether a host program calls an operator that draws random numbers."""
    names = {op.op for op in operations if op.operation.name == "host.extern"}
    called = (torch_entry.overload(name) for name in names - torch_entry.OWN.keys())
    return any(torch.Tag.nondeterministic_seeded in each.tags for each in called)
