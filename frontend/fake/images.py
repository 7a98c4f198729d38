"""Resizing images: what torch writes out in Python is not what its kernels give.

Images of bytes are resized by one operator, and what is resized along one dim is
contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

_KEY = torch._C.DispatchKey.CompositeImplicitAutograd


@contextmanager
def whole_images() -> Iterator[None]:
    """Keeps torch from writing out how bytes are resized, and how lines lie.

    Its Python computes in floating point and rounds; the kernel has fixed point.
    Lines get the layout of the operand in Python, and none from the kernel.
    """
    ops = torch.ops.aten
    pairs = (
        (ops.upsample_bilinear2d.vec, ops.upsample_bilinear2d.default),
        (ops.upsample_bicubic2d.vec, ops.upsample_bicubic2d.default),
    )
    lines = (ops.upsample_nearest1d, ops._upsample_nearest_exact1d)
    lines = [each for op in lines for each in (op.vec, op.default)]
    changed = (*(vec for vec, _ in pairs), *lines)
    written_out = {vec: dict(vec.py_kernels) for vec in changed}
    try:
        for vec, whole in pairs:
            if _KEY in vec.py_kernels:
                vec.py_kernels[_KEY] = _resized(whole, vec.py_kernels[_KEY])
                vec._dispatch_cache.clear()
        for op in lines:
            if _KEY in op.py_kernels:
                op.py_kernels[_KEY] = _contiguous(op.py_kernels[_KEY])
                op._dispatch_cache.clear()
        yield
    finally:
        for vec, kernels in written_out.items():
            vec.py_kernels.update(kernels)
            vec._dispatch_cache.clear()


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
