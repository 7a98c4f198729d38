"""Resizing images of bytes: one operator where sizes are symbolic, as eager has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

_KEY = torch._C.DispatchKey.CompositeImplicitAutograd


@contextmanager
def whole_images() -> Iterator[None]:
    """Keeps torch from writing out how bytes are resized.

    Its Python computes in floating point and rounds; the kernel has fixed point.
    """
    ops = torch.ops.aten
    pairs = (
        (ops.upsample_bilinear2d.vec, ops.upsample_bilinear2d.default),
        (ops.upsample_bicubic2d.vec, ops.upsample_bicubic2d.default),
    )
    written_out = {vec: dict(vec.py_kernels) for vec, _ in pairs}
    try:
        for vec, whole in pairs:
            if _KEY in vec.py_kernels:
                vec.py_kernels[_KEY] = _resized(whole, vec.py_kernels[_KEY])
                vec._dispatch_cache.clear()
        yield
    finally:
        for vec, kernels in written_out.items():
            vec.py_kernels.update(kernels)
            vec._dispatch_cache.clear()


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
