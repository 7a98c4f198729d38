"""Arguments that differ a little from given ones, to try guards with.

A guard that is missing shows as a wrong result at a call with such arguments.
"""

from __future__ import annotations

import copy
import enum
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch


def varied(call: tuple, limit: int) -> list[tuple]:
    """Calls that differ from a call in one place each, always the same ones.

    Args:
        call: Arguments and keywords.
        limit: Most calls to make.
    """
    changes = [
        (path, number)
        for path in _places(call, set())
        for number in range(_change_count(_at(call, path)))
    ]
    random.Random(len(changes)).shuffle(changes)
    calls = (_changed(copy.deepcopy(call), *change) for change in changes)
    return [made for made in itertools.islice(calls, limit) if made is not None]


def _places(obj: Any, seen: set[int], path: tuple = ()) -> Iterator[tuple]:
    """Paths to all objects that can be replaced or changed."""
    if id(obj) in seen:
        return
    seen.add(id(obj))
    if _change_count(obj):
        yield path
    for step, item in _items(obj):
        yield from _places(item, seen, (*path, step))


def _items(obj: Any) -> Iterator[tuple[Any, Any]]:
    """What an object holds, by the steps that lead there."""
    if isinstance(obj, (list, tuple)):
        yield from enumerate(obj)
    elif isinstance(obj, dict):
        yield from obj.items()
    elif isinstance(obj, torch.nn.Module):
        yield from ((_Attribute(n), p) for n, p in obj.named_parameters(recurse=False))
        yield from ((_Attribute(n), b) for n, b in obj.named_buffers(recurse=False))
        yield from ((_Attribute(n), m) for n, m in obj.named_children())
    # The attributes of torch's modules have to fit each other.
    if hasattr(obj, "__dict__") and not isinstance(obj, (enum.Enum, *_FOREIGN)):
        names = [name for name in vars(obj) if not name.startswith("_")]
        yield from ((_Attribute(name), vars(obj)[name]) for name in names)


_FOREIGN = tuple(
    cls
    for cls in vars(torch.nn).values()
    if isinstance(cls, type) and cls is not torch.nn.Module
)


class _Attribute(str):
    """A step of a path that is an attribute."""


def _at(call: tuple, path: tuple) -> Any:
    for step in path:
        call = _get(call, step)
    return call


def _changed(call: tuple, path: tuple, number: int) -> tuple | None:
    """The call, changed at what a path leads to; None where that is not possible."""
    steps = [call]
    for step in path:
        steps.append(_get(steps[-1], step))
    made = _changes_of(steps[-1])(steps[-1])[number]()
    for owner, step in zip(reversed(steps[:-1]), reversed(path), strict=True):
        if not isinstance(owner, tuple):
            return call if _set(owner, step, made) else None
        items = [*owner]
        items[step] = made
        made = type(owner)(*items) if hasattr(owner, "_fields") else tuple(items)
    return made


def _get(owner: Any, step: Any) -> Any:
    return getattr(owner, step) if isinstance(step, _Attribute) else owner[step]


def _set(owner: Any, step: Any, value: Any) -> bool:
    if not isinstance(step, _Attribute):
        owner[step] = value
        return True
    try:
        setattr(owner, step, value)
    except (AttributeError, TypeError):  # frozen, or a property
        return False
    return True


def _change_count(obj: Any) -> int:
    if isinstance(obj, torch.nn.parameter.UninitializedTensorMixin):
        return 0
    changes = _changes_of(obj)
    return len(changes(obj)) if changes else 0


def _changes_of(obj: Any) -> Callable[[Any], list[Callable]] | None:
    if isinstance(obj, torch.Tensor):
        return _tensors
    return _CHANGES.get(type(obj))


def _tensors(x: torch.Tensor) -> list[Callable]:
    if isinstance(x, torch.nn.Parameter):
        return [lambda: torch.nn.Parameter(x.detach() * 2)]
    x = x.detach()
    if x.is_complex():
        return [lambda: x * 1j]
    return [
        lambda: torch.cat([x, x]) if x.dim() else x.reshape(1),
        lambda: x.double() if x.is_floating_point() else x.float(),
        lambda: torch.stack([x, x], -1)[..., 0],
        lambda: (x * 1).requires_grad_(x.is_floating_point()),
        lambda: x.unsqueeze(0),
        lambda: -x if x.dtype is not torch.bool else ~x,
        lambda: None,
        lambda: x[:0] if x.dim() else x.int(),
    ]


def _constants(*values: Any) -> list[Callable]:
    return [lambda value=value: value for value in values]


def _lists(items: list) -> list[Callable]:
    return _constants(items + items[-1:], items[:-1], items[::-1], tuple(items))


def _tables(table: dict) -> list[Callable]:
    first = next(iter(table), None)
    less = {key: value for key, value in table.items() if key != first}
    more = {**table, "another": table.get(first, 1)}
    return _constants(less, more, dict(reversed(table.items())))


_CHANGES: dict[type, Callable[[Any], list[Callable]]] = {
    bool: lambda v: _constants(not v, int(v)),
    # Neither negative nor zero: loops that count down would not end.
    int: lambda v: _constants(v + 1, v + 2, float(v), True),
    float: lambda v: _constants(v + 1.0, -v, int(v), float("nan")),
    str: lambda v: _constants(v + "x", ""),
    type(None): lambda v: _constants(1),
    list: _lists,
    dict: _tables,
}
