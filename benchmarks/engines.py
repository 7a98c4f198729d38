"""What is measured: eager, Inductor and girih, each as ``function -> function``."""

from __future__ import annotations

from collections.abc import Callable

import torch

import girih


def eager(function: Callable) -> Callable:
    """The function itself."""
    return function


def inductor(function: Callable) -> Callable:
    """``torch.compile`` with its default backend, compiled anew for each function."""
    torch.compiler.reset()
    return torch.compile(function, dynamic=False)


def compiled_by_girih(function: Callable) -> Callable:
    """``girih.compile``; a program that it can't compile raises."""
    return girih.compile(function, dynamic=False, options={"fallback": False})


def behind_torch_compile(function: Callable) -> Callable:
    """The backend ``"girih"`` of ``torch.compile``."""
    torch.compiler.reset()
    return torch.compile(function, dynamic=False, backend="girih")


ENGINES = {"eager": eager, "inductor": inductor, "girih": compiled_by_girih}
"""From the name in tables to the engine; eager comes first."""
