"""Writes through views whose steps have no way back, such as windows that overlap.

A window is written by what it shows of the memory of a tensor that it is a view of:
sizes, strides and an offset. Each element that is written needs a place of its own, or
all of them the same value: else what the memory holds depends on the order of writing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from girih.dialects.dims import Size
from girih.frontend.importer import views
from girih.frontend.importer.builder import Operand
from girih.frontend.importer.lazy_bits import bits_of
from girih.frontend.importer.registry import ViewStep
from girih.frontend.importer.tracking import Hide, Tracked

if TYPE_CHECKING:
    from girih.frontend.importer.recorder import Recorder

_FILLS = ("zero_", "fill_.Scalar")


def is_uniform(name: str, args: Sequence) -> bool:
    """Whether a write gives all elements the same value."""
    if name in _FILLS:
        return True
    if name not in ("copy_", "fill_.Tensor") or not isinstance(args[1], torch.Tensor):
        return False
    source = args[1]
    return all(type(size) is int and size == 1 for size in source.shape)


def write_window(
    recorder: Recorder,
    entry: Tracked,
    new: Operand,
    hide: Hide | None,
    *,
    is_uniform: bool,
) -> bool:
    """Writes to a view, where a step on the way to its base has no way back.

    Args:
        recorder: The recorder.
        entry: What is written.
        new: Its new value.
        hide: Given where autograd does not see the write.
        is_uniform: All elements of the value are the same.

    Returns:
        Whether that was the case, and the write is done.
    """
    path = _way_to_owner(entry)
    if len(path) < 2 or entry.storage.shared:
        return False
    owner, *between = reversed(path)
    if any(e.name for e in between) or _is_other(entry.tensor, owner.shown):
        return False
    cuts = [e.cut for e in between if e.cut is not None]
    if cuts and hide is None:
        return False
    if not (is_uniform or views.is_apart(entry.tensor, recorder.symbols)):
        return False
    step = _window(recorder, owner.shown, entry.tensor)
    if step is None:
        return False
    whole = step.inverse(owner.read(), new)
    owner.write(whole, cuts[-1].hide if cuts else hide)
    return True


def _way_to_owner(entry: Tracked) -> list[Tracked]:
    """From a view to what its last step without a way back, seen from it, is a view of.

    Empty where each step has a way back.
    """
    path, found = [entry], []
    while path[-1].parent is not None:
        step = path[-1].step
        path.append(path[-1].parent)
        if step.inverse is None:
            found = list(path)
    return found


def _is_other(window: torch.Tensor, owner: torch.Tensor) -> bool:
    return window.dtype != owner.dtype or bits_of(window) != bits_of(owner)


def _window(
    recorder: Recorder, owner: torch.Tensor, window: torch.Tensor
) -> ViewStep | None:
    """The step from a tensor without gaps in memory to a part of it."""
    order = views.memory_order(owner, recorder.symbols)
    if order is None:
        return None
    size = recorder.symbols.size
    offset: Size = size(window.storage_offset()) - size(owner.storage_offset())
    if recorder.symbols.is_negative(offset):
        return None
    strides = [size(stride) for stride in window.stride()]
    where = (list(recorder.symbols.shape(window.shape)), strides, offset, True)
    recorder.expect([window])
    return views.window_step(recorder.builder, order, where, is_written=True)
