"""Marks on the dims of tensors: which sizes are symbolic.

The marks are torch's own attributes of tensors, so ``torch._dynamo.mark_dynamic`` and
its relatives count under girih, and these count under ``torch.compile``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Dims = int | Sequence[int]


@dataclass(frozen=True)
class DimRange:
    """The sizes that a dim may have; ``torch._dynamo`` reads these fields.

    Attributes:
        dim: The dim.
        min: Smallest size, or None.
        max: Largest size, or None.
    """

    dim: int
    min: int | None
    max: int | None


def mark_dynamic(
    t: Any,
    index: Dims,
    *,
    hint_override: int | None = None,
    min: int | None = None,  # noqa: A002 - torch's name
    max: int | None = None,  # noqa: A002 - torch's name
    specialize_on: list[Callable] | None = None,
) -> None:
    """Gives dims of a tensor a symbolic size when it is an input.

    Call it on the tensor before the compiled function. Sizes 0 and 1 are compiled for
    themselves nevertheless.

    Args:
        t: The tensor.
        index: A dim, or several.
        hint_override: Kept for ``torch.compile``; without effect in girih.
        min: Smallest size that will come.
        max: Largest size that will come.
        specialize_on: Kept for ``torch.compile``; without effect in girih.

    Raises:
        TypeError: ``t`` is no tensor, or ``index`` no number.
        ValueError: The tensor has no such dim, or ``min`` is larger than ``max``.
    """
    if min is not None and max is not None and min > max:
        raise ValueError(f"min={min} is larger than max={max}")
    for dim in _dims("mark_dynamic", t, index):
        _attribute(t, "_dynamo_dynamic_indices", set).add(dim)
        _attribute(t, "_dynamo_dynamic_range", set).add(DimRange(dim, min, max))
        hints = _attribute(t, "_dynamo_hint_overrides", dict)
        if hint_override:
            hints[dim] = hint_override
        _attribute(t, "_specialize_on", dict)[dim] = list(specialize_on or ())
        t._has_dynamo_dim_marking = True


def maybe_mark_dynamic(t: Any, index: Dims) -> None:
    """As ``mark_dynamic``, but the size may turn out to be fixed by the program.

    Args:
        t: The tensor.
        index: A dim, or several.

    Raises:
        TypeError: ``t`` is no tensor, or ``index`` no number.
        ValueError: The tensor has no such dim.
    """
    for dim in _dims("maybe_mark_dynamic", t, index):
        _attribute(t, "_dynamo_weak_dynamic_indices", set).add(dim)
        t._has_dynamo_dim_marking = True


def mark_static(t: Any, index: Dims | None = None) -> Any:
    """Compiles dims of a tensor for their size; for each size anew.

    Inside compiled code it fixes the sizes from there on.

    Args:
        t: The tensor, or a class of modules: ``torch.compile`` then takes the numbers
            in its instances as constants, as girih always does.
        index: A dim, or several; None: all.

    Returns:
        None; for a class, the class.

    Raises:
        TypeError: ``t`` is neither, or ``index`` is no number.
        ValueError: The tensor has no such dim.
    """
    torch = sys.modules.get("torch")
    if torch and isinstance(t, type) and issubclass(t, torch.nn.Module):
        t._dynamo_marked_static = True
        return t
    for dim in _dims("mark_static", t, index):
        _attribute(t, "_dynamo_static_indices", set).add(dim)
        t._has_dynamo_dim_marking = True
    return None


def _dims(name: str, t: Any, index: Dims | None) -> list[int]:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(t, torch.Tensor):
        raise TypeError(f"girih.{name} expects a tensor, got {type(t).__name__}")
    if index is None:
        return list(range(t.ndim))
    dims = [index] if isinstance(index, int) else list(index)
    for dim in dims:
        if not isinstance(dim, int) or isinstance(dim, bool):
            raise TypeError(f"girih.{name} expects numbers of dims, got {dim!r}")
        if not -t.ndim <= dim < t.ndim:
            shape = tuple(t.shape)
            raise ValueError(
                f"girih.{name}: a tensor of shape {shape} has no dim {dim}"
            )
    return [dim % t.ndim for dim in dims]


def _attribute(t: Any, name: str, make: Callable[[], Any]) -> Any:
    if not hasattr(t, name):
        setattr(t, name, make())
    return getattr(t, name)
