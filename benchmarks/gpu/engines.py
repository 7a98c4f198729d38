"""What functions are run with on a GPU: eager, Inductor and girih, in one mode."""

from __future__ import annotations

from collections.abc import Callable

import torch

NAMES = ("eager", "inductor", "girih")
"""Eager comes first."""
NO_FALLBACK = {"GIRIH_FALLBACK": "0"}
"""What girih can't compile raises."""


def compile_with(engine: str, function: Callable, mode: str = "default") -> Callable:
    """The function as an engine runs it.

    Workers run with ``NO_FALLBACK``, so no row shows eager's time as girih's.
    """
    if engine == "eager":
        return function
    if engine == "inductor":
        return torch.compile(function, dynamic=False, mode=mode)
    import girih  # here, because cold starts count it

    return girih.compile(function, dynamic=False, mode=mode)


def reset() -> None:
    """Forgets what all engines have compiled in this process."""
    import girih

    torch.compiler.reset()
    girih.reset()


def check_compiled(engine: str, function: Callable) -> None:
    """Nothing happens where girih compiled all of it, or did not take part.

    Raises:
        RuntimeError: A graph that girih captured runs eager, or it captured none.
    """
    if engine != "girih":
        return
    import girih

    graphs = girih.report(function).graphs
    if not graphs:
        raise RuntimeError("girih captured nothing: the function runs eager")
    for graph in graphs:
        if graph.fallback is not None:
            raise RuntimeError(f"a graph runs eager: {graph.fallback}")
