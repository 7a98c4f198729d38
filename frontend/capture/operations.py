"""What is known of an operation by what it calls."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable

import torch

_OF_TORCH = ("torch.", "_operator", "math", "builtins")


def name_of(node: torch.fx.Node) -> str:
    """The name of the method or function that a node calls, or ""."""
    is_method = node.op == "call_method"
    return node.target if is_method else getattr(node.target, "__name__", "")


def is_torchs_own(target: Callable) -> bool:
    """Whether nothing but torch's own code runs."""
    if isinstance(target, torch._ops.OpOverload):
        return target.namespace in ("aten", "prims")
    if isinstance(target, types.FunctionType):
        return target.__module__ in ("torch.functional", "torch.nn.functional")
    if isinstance(target, types.BuiltinFunctionType):
        return _place_of(target).startswith(_OF_TORCH)
    name = getattr(target, "__name__", "")
    return getattr(operator, name, None) is target


def _place_of(builtin: types.BuiltinFunctionType) -> str:
    """The module of a function written in C."""
    owner = builtin.__self__
    is_module = isinstance(owner, types.ModuleType)
    return owner.__name__ if is_module else f"{type(owner).__module__}."
