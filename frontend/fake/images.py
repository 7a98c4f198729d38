"""Resizing images: what torch writes out in Python is not what its kernels give.

Images are resized by one operator each, which has a derivative and, for bytes, fixed
point numbers. What torch writes out takes sizes that its kernels refuse, so those are
asked for first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

import torch

from girih.frontend.fake.demands import RESIZED, check_demand


@contextmanager
def whole_images() -> Iterator[None]:
    """Keeps torch from writing out in Python how images are resized.

    Its Python rounds bytes that it computed in floating point, where the kernel has
    fixed point, and gives lines the layout of the operand, where the kernel gives none.
    Several threads may be inside: the last one to leave puts back what torch has.
    """
    with _lock:
        _inside.append(None)
        if len(_inside) == 1:
            _hide()
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                _put_back()


_lock = Lock()
_inside: list[None] = []
_written_out: dict[torch._ops.OpOverload, dict] = {}


def _hide() -> None:
    for op in _overloads():
        kernels = _written_out[op] = dict(op.py_kernels)
        for key in kernels.keys() - {torch._C.DispatchKey.Meta}:
            if op._overloadname == "vec":
                op.py_kernels[key] = _whole(op)
            else:
                del op.py_kernels[key]
        op._dispatch_cache.clear()


def _put_back() -> None:
    for op, kernels in _written_out.items():
        op.py_kernels.update(kernels)
        op._dispatch_cache.clear()
    _written_out.clear()


@cache
def _overloads() -> tuple:
    """What resizes images, as ``interpolate`` calls it and as kernels do."""
    packets = [getattr(torch.ops.aten, name) for name in RESIZED]
    return tuple(op for one in packets for op in (one.vec, one.default))


@cache  # Reading the schema takes longer than most operations.
def _whole(op: torch._ops.OpOverload) -> Callable:
    """The kernel of an overload that takes sizes or factors: one call with sizes."""
    default = op.overloadpacket.default
    names = [argument.name for argument in op._schema.arguments]

    def resize(*args, **kwargs):
        check_demand(op, args, kwargs)
        given = dict(zip(names, args, strict=False)) | kwargs
        input, size, *modes, factors = (given[name] for name in names)
        if size is None:
            pairs = zip(input.shape[2:], factors, strict=True)
            size = [_resized(length, factor) for length, factor in pairs]
        return default(input, size, *modes, *(factors or ()))

    return resize


def _resized(size: int | torch.SymInt, factor: float) -> int | torch.SymInt:
    # A product of integers is one that later steps can reason about.
    return size * int(factor) if factor == int(factor) else torch.sym_int(size * factor)
