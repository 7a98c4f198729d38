"""Resizing images: what torch writes out in Python is not what its kernels give.

Images of bytes are resized by one operator, and what is resized along one dim is
contiguous. What torch writes out takes sizes that its kernels refuse, so those are
asked for first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import torch

from girih.frontend.fake.demands import RESIZED, check_demand

_KEY = torch._C.DispatchKey.CompositeImplicitAutograd
_OF_LINES = (
    torch.ops.aten.upsample_nearest1d,
    torch.ops.aten._upsample_nearest_exact1d,
)
_OF_BYTES = (torch.ops.aten.upsample_bilinear2d, torch.ops.aten.upsample_bicubic2d)


@contextmanager
def whole_images() -> Iterator[None]:
    """Keeps torch from writing out how bytes are resized, and how lines lie.

    Its Python computes in floating point and rounds; the kernel has fixed point.
    Lines get the layout of the operand in Python, and none from the kernel.
    """
    overloads = _overloads()
    written_out = {op: dict(op.py_kernels) for op in overloads}
    try:
        for op, kernels in written_out.items():
            for key in kernels.keys() - {torch._C.DispatchKey.Meta}:
                op.py_kernels[key] = _asking(op, _replaced(op, key))
            op._dispatch_cache.clear()
        yield
    finally:
        for op, kernels in written_out.items():
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()


@cache
def _overloads() -> tuple:
    """What resizes images, as ``interpolate`` calls it and as kernels do."""
    packets = [getattr(torch.ops.aten, name) for name in RESIZED]
    return tuple(op for one in packets for op in (one.vec, one.default))


def _replaced(op: torch._ops.OpOverload, key: torch._C.DispatchKey) -> Callable:
    """The kernel of an overload in Python, with what kernels in C++ do otherwise."""
    written_out, packet = op.py_kernels[key], op.overloadpacket
    if key == _KEY and packet in _OF_LINES:
        return _contiguous(written_out)
    if key == _KEY and packet in _OF_BYTES and op is packet.vec:
        return _resized(packet.default, written_out)
    return written_out


def _asking(op: torch._ops.OpOverload, kernel: Callable) -> Callable:
    def resize(*args, **kwargs):
        check_demand(op, args, kwargs)
        return kernel(*args, **kwargs)

    return resize


def _contiguous(written_out: Callable) -> Callable:
    def resize(*args, **kwargs):
        return written_out(*args, **kwargs).contiguous()

    return resize


def _resized(whole: Callable, written_out: Callable) -> Callable:
    """The kernel of an overload that takes sizes or factors."""

    def resize(input, output_size, align_corners, scale_factors=None):
        if input.dtype != torch.uint8:
            return written_out(input, output_size, align_corners, scale_factors)
        factors = scale_factors or (None, None)
        if output_size is None:
            sizes = input.shape[2:]
            output_size = [
                torch.sym_int(size * factor)
                for size, factor in zip(sizes, factors, strict=True)
            ]
        with torch._C._AutoDispatchBelowAutograd():  # bytes have no derivative
            return whole(input, output_size, align_corners, *factors)

    return resize
