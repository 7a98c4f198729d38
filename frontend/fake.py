"""Fake tensors without Dynamo.

``FakeTensorMode.__init__`` reads two settings from ``torch._dynamo.config``, and
``FakeTensorMode.from_tensor`` imports ``torch._dynamo.source``; either costs a
second in a fresh process. The mode made here and the tensors made with
``fake_like`` are ordinary fake tensors, made without that import.
"""

from __future__ import annotations

import builtins
import sys
import types

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

# What FakeTensorMode.__init__ reads from torch._dynamo.config, with its defaults.
_DYNAMO_CONFIG = types.SimpleNamespace(
    fake_tensor_cache_enabled=True, fake_tensor_cache_crosscheck_enabled=False
)


class _TorchWithoutDynamo:
    """Stands for the ``torch`` module inside ``FakeTensorMode.__init__``."""

    _dynamo = types.SimpleNamespace(config=_DYNAMO_CONFIG)

    def __getattr__(self, name: str) -> object:
        return getattr(torch, name)


def _import_without_dynamo(name, globals=None, locals=None, fromlist=(), level=0):
    if name == "torch._dynamo.config" and not fromlist:
        return _TorchWithoutDynamo()
    module = builtins.__import__(name, globals, locals, fromlist, level)
    # ``import torch.a.b`` binds ``torch`` anew: keep the stand-in.
    return _TorchWithoutDynamo() if module is torch and not fromlist else module


def _init_without_dynamo() -> types.FunctionType:
    """``FakeTensorMode.__init__`` with ``import`` statements of its own."""
    original = FakeTensorMode.__init__
    scope = {**vars(builtins), "__import__": _import_without_dynamo}
    init = types.FunctionType(
        original.__code__,
        {**original.__globals__, "__builtins__": scope},
        "__init__",
        original.__defaults__,
        original.__closure__,
    )
    init.__kwdefaults__ = original.__kwdefaults__
    return init


class LightFakeTensorMode(FakeTensorMode):
    """A ``FakeTensorMode`` that is made without loading Dynamo."""

    __init__ = _init_without_dynamo()


def make_fake_mode(shape_env: object | None = None, **options) -> FakeTensorMode:
    """A fake tensor mode.

    Args:
        shape_env: The ``ShapeEnv`` of symbolic sizes, or None where all are static.
        **options: As for ``FakeTensorMode``.
    """
    loaded = "torch._dynamo.config" in sys.modules
    cls = FakeTensorMode if loaded else LightFakeTensorMode
    return cls(shape_env=shape_env, **options)


def fake_like(
    mode: FakeTensorMode, tensor: torch.Tensor, base: FakeTensor | None = None
) -> FakeTensor:
    """A fake tensor with the type, device, sizes and strides of ``tensor``.

    Args:
        mode: The mode that the result belongs to.
        tensor: A strided tensor; its sizes are taken as they are (static).
        base: A fake tensor whose storage the result shares, where ``tensor`` shares
            that of the tensor which ``base`` stands for.

    Returns:
        A fake tensor that requires no gradient.
    """
    size, stride = tensor.size(), tensor.stride()
    if base is not None:
        with torch.no_grad(), mode:
            return torch.as_strided(base, size, stride, tensor.storage_offset())
    # ``empty_strided`` has offset 0: room in front makes the storage large enough.
    offset = tensor.storage_offset()
    with torch.no_grad():
        if offset == 0 or tensor.numel() == 0:
            meta = torch.empty_strided(size, stride, dtype=tensor.dtype, device="meta")
        else:
            extent = 1 + offset + sum((n - 1) * s for n, s in zip(size, stride))
            meta = torch.empty(extent, dtype=tensor.dtype, device="meta")
            meta = meta.as_strided(size, stride, offset)
    return FakeTensor(mode, meta, tensor.device)
