"""What a program has put in place of the members of ``torch.Tensor``.

Tensors are what torch's own classes make of them, and nodes of the graph stand for
that. A function that replaces a method is followed like any other.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from girih.frontend.capture.values.lookup import (
    C_METHODS,
    MISSING,
    SLOT_TYPES,
    is_torchs_function,
)

_WRAPPERS = (staticmethod, classmethod)

# What girih and torch's tensors without data ask each tensor for.
_RELIED_ON = tuple(
    """size stride dim numel shape dtype device layout ndim requires_grad is_leaf grad
    grad_fn storage_offset untyped_storage detach clone is_contiguous
    is_floating_point is_complex element_size data data_ptr __torch_dispatch__
    __torch_function__ __class__ __bool__ __getattribute__ __setattr__ __new__
    __init__ is_cuda is_cpu is_meta is_sparse is_quantized is_nested is_inference
    is_conj is_neg names _is_view _base _version view as_strided to __hash__
    __dict__ __getattr__""".split()
)


def is_torchs(member: Any) -> bool:
    """Whether a member of a class of tensors was defined by torch."""
    if isinstance(member, (*C_METHODS, *SLOT_TYPES, types.BuiltinFunctionType)):
        return True
    if isinstance(member, _WRAPPERS):
        return is_torchs(member.__func__)
    if isinstance(member, property):
        return is_torchs(member.fget)
    if isinstance(member, types.FunctionType):
        return is_torchs_function(member)
    return member is MISSING or _VALUES.get(id(member)) is member


# Values of no use to programs, such as `__array_priority__`.
_VALUES = {
    id(member): member
    for cls in torch.nn.Parameter.__mro__
    for member in vars(cls).values()
    if not hasattr(member, "__get__")
}


def replaced_member() -> str:
    """A member of ``torch.Tensor`` that capture relies on and that was replaced."""
    for name in _RELIED_ON:
        for cls in torch.Tensor.__mro__:
            if name in vars(cls):
                if not is_torchs(vars(cls)[name]):
                    return name
                break
    return ""


_PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def gives_grad_quietly(value: Any) -> bool:
    """A guard: torch does not warn where ``.grad`` of a tensor is read."""
    return type(value) in _PLAIN and (value.is_leaf or value.retains_grad)
