"""Indices of tensors that may be others at the next call.

C++ reads an index as a number, which would fix it for the entry; ``torch.select`` takes
a symbol. Indexing with ints is selecting along their dims, whatever stands beside them.
"""

from __future__ import annotations

import math

import torch

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.sequence import SequenceValue, SliceValue
from girih.frontend.capture.values.symbol import NumberValue, SymbolValue

# Each number of a list is a node.
_MOST_NUMBERS = 64


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


def with_tensors(tracer, tensor: Value, key: Value) -> Value:
    """The key with a tensor in place of each list of ints of which some vary.

    C++ makes that tensor of the numbers, which would fix all of them.
    """
    items = _items_of(key)
    found = [_tensor_of(tracer, tensor, item) for item in items]
    if all(one is other for one, other in zip(items, found, strict=True)):
        return key
    return SequenceValue(found, tuple)


def _tensor_of(tracer, tensor: Value, item: Value) -> Value:
    if not isinstance(item, SequenceValue) or item.cls is not list:
        return item
    numbers = item.items
    has_varying = any(isinstance(n, NumberValue) and _varies(n) for n in numbers)
    if not has_varying or len(numbers) > _MOST_NUMBERS:
        return item
    if not all(_varies(n) or type(getattr(n, "value", None)) is int for n in numbers):
        return item
    graph = tracer.graph
    options = {"dtype": torch.int64, "device": tensor.fake.device}
    named = {name: tracer.constant(option) for name, option in options.items()}
    none = SequenceValue([], tuple)
    parts = [graph.call_function(torch.full, [none, n], named) for n in numbers]
    return graph.call_function(torch.stack, [SequenceValue(parts, list)], {})


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


def is_masked_fill(tensor: Value, key: Value, value: Value) -> bool:
    """Whether ``tensor[key] = value`` does what ``masked_fill_`` does.

    That holds for a mask without dims and a number. C++ would read the mask's element.
    What the two do not share are numbers that the dtype cannot hold, and tensors whose
    elements share memory.
    """
    mask, fake = getattr(key, "fake", None), tensor.fake
    number = getattr(value, "value", None)
    is_mask = isinstance(mask, torch.Tensor) and mask.dtype is torch.bool
    if not is_mask or mask.ndim or mask.device != fake.device:
        return False
    if any(s == 0 and fake.shape[dim] != 1 for dim, s in enumerate(fake.stride())):
        return False
    is_number = type(number) in (bool, int, float)
    return is_number and fake.dtype in _FILLED and _holds(fake.dtype, number)


_FILLED = frozenset(
    {
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.bfloat16, torch.float16, torch.float32, torch.float64),
    }
)


def _holds(dtype: torch.dtype, number: bool | int | float) -> bool:
    """Whether a dtype has the number, or rounds it."""
    if dtype is torch.bool:
        return type(number) is bool
    if dtype.is_floating_point:
        is_finite = type(number) is not float or math.isfinite(number)
        limit = min(torch.finfo(dtype).max, 2.0**62)
        return not is_finite or abs(number) <= limit
    limits = torch.iinfo(dtype)
    return type(number) is not float and limits.min <= number <= limits.max


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
