"""Indices of tensors that may be others at the next call.

C++ reads an index as a number, which would fix it for the entry; ``torch.select`` takes
a symbol. Indexing with ints is selecting along their dims, whatever stands beside them.
"""

from __future__ import annotations

import torch

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.sequence import SequenceValue, SliceValue
from girih.frontend.capture.values.symbol import NumberValue, SymbolValue


def expect_dims_for(tensor: Value, key: Value) -> None:
    """Refuses a number as index of a tensor without dims.

    Eager raises. Without data PyTorch reads a size that does not exist, and may end
    the process.
    """
    is_number = isinstance(key, SymbolValue) or type(getattr(key, "value", None)) is int
    if tensor.fake.ndim == 0 and is_number:
        unsupported(
            kind="index of a tensor without dims",
            explanation="Eager raises an IndexError.",
        )


def select_varying(tracer, tensor: Value, key: Value) -> tuple[Value, Value] | None:
    """A view with the varying indices of a key applied, and the key for that view.

    None where no index varies, or the key holds what is not followed here.
    """
    items = _items_of(key)
    if not any(map(_varies, items)):
        return None
    places = _places(items, tensor.fake.ndim)
    if places is None:
        return None
    for place, item in reversed(list(zip(places, items, strict=True))):
        if _varies(item):
            args = [tensor, tracer.constant(place), item]
            tensor = tracer.graph.call_function(torch.select, args, {})
    rest = [item for item in items if not _varies(item)]
    return tensor, SequenceValue(rest, tuple)


def is_everything(key: Value) -> bool:
    """Whether a key for what ``select_varying`` gave takes the whole view."""
    return not key.items or all(
        isinstance(item, SliceValue) and all(map(_is_none, item.parts))
        for item in key.items
    )


def _items_of(key: Value) -> list[Value]:
    if isinstance(key, SequenceValue) and key.cls is tuple:
        return key.items
    return [key]


def _varies(item: Value) -> bool:
    if not isinstance(item, SymbolValue) or item.real is None:
        return False
    if isinstance(item, NumberValue) and item.is_fixed:
        return False
    return item.python_type() is int


def _places(items: list[Value], rank: int) -> list[int] | None:
    """The dim at which each item of a key begins."""
    widths = [_width(item) for item in items]
    if None in widths or widths.count(-1) > 1:
        return None
    hidden = rank - sum(width for width in widths if width > 0)
    if hidden < 0:
        return None
    places, place = [], 0
    for width in widths:
        places.append(place)
        place += hidden if width == -1 else width
    return places


def _width(item: Value) -> int | None:
    """How many dims an item is about; -1 for an ellipsis, None for what is unusual."""
    fake = getattr(item, "fake", None)
    if isinstance(fake, torch.Tensor):
        return fake.ndim if fake.dtype in (torch.bool, torch.uint8) else 1
    return _WIDTHS.get(item.python_type())


_WIDTHS = {type(None): 0, type(Ellipsis): -1, slice: 1, int: 1}


def _is_none(value: Value) -> bool:
    return value.python_type() is type(None)
