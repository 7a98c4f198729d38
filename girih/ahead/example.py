"""What is known of the call that a function was compiled for, and what another has."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from girih import dynamic
from girih.frontend.capture.api import CompiledFunction
from girih.packaging.capturing import names_of_leaves, parameters_of

OTHER = "an attribute or a global differs, or other tensors share memory"


def misfits(before: Mapping, now: Mapping, names: Sequence[str]) -> list[str]:
    """What a call has otherwise than the one that was compiled, as text.

    Args:
        before: What is known of that, with its graphs.
        now: Likewise of the call.
        names: Of the values in its arguments.
    """
    pairs = [(each["is"], new["is"]) for each, new in _pairs(before, now, "leaves")]
    reasons = [
        f"{name} is {new}, expected {old}"
        for name, (old, new) in zip(names, pairs, strict=False)
        if old != new
    ]
    counts = [len(each["leaves"]) for each in (before, now)]
    if counts[0] != counts[1]:
        reasons.append(f"{counts[1]} values are given, expected {counts[0]}")
    reasons += [
        f"{new}, expected: {old}"
        for old, new in _pairs(before, now, "modes")
        if old != new
    ]
    return reasons or _differing_lines(before["graphs"], now["graphs"])


def _pairs(before: Mapping, now: Mapping, name: str) -> Iterator[tuple]:
    return zip(before[name], now[name], strict=False)


def _differing_lines(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """The first operation that two graphs have otherwise, as text."""
    old, new = ("\n".join(graphs).splitlines() for graphs in (before, now))
    for line, other in itertools.zip_longest(old, new, fillvalue="nothing"):
        if line != other:
            return [f"it computes {other.strip()}, expected {line.strip()}"]
    return []


def names_of(function: types.FunctionType, args: tuple, kwargs: Mapping) -> list[str]:
    """The names of the values in the arguments of a call."""
    return names_of_leaves(args, kwargs, parameters_of(function, len(args)))


def known_of(dispatcher: CompiledFunction, args: tuple, kwargs: Mapping) -> dict:
    """What is known of a call, for JSON."""
    modes = [
        f"gradients are {'on' if torch.is_grad_enabled() else 'off'}",
        f"inference mode is {'on' if torch.is_inference_mode_enabled() else 'off'}",
        "autocast is " + ("on" if torch._C._is_any_autocast_enabled() else "off"),
    ]
    return {"leaves": _leaves(dispatcher, args, kwargs), "modes": modes}


def _leaves(dispatcher: CompiledFunction, args: tuple, kwargs: Mapping) -> list[dict]:
    """What is known of each value in the arguments, for JSON."""
    is_dynamic = dispatcher.girih_compiler.settings.dynamic is True
    found = pytree.tree_leaves((args, dict(kwargs)))
    return [_leaf(value, is_dynamic) for value in found]


def _leaf(value: Any, is_dynamic: bool) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor):
        is_plain = isinstance(value, (bool, int, float, complex, str, type(None)))
        return {"is": repr(value) if is_plain else f"a {type(value).__qualname__}"}
    ranges = getattr(value, "_dynamo_dynamic_range", ())
    dynamic = [[each.dim, each.min, each.max] for each in ranges]
    maybe = sorted(getattr(value, "_dynamo_weak_dynamic_indices", ()))
    static = sorted(getattr(value, "_dynamo_static_indices", ()))
    free = {*maybe, *(dim for dim, *_ in dynamic)}
    if is_dynamic:
        free = set(range(value.dim())) - {*static}
    sizes = [
        "*" if dim in free and size > 1 else str(size)
        for dim, size in enumerate(value.shape)
    ]
    text = f"{str(value.dtype).removeprefix('torch.')}[{', '.join(sizes)}]"
    text = (
        f"a {type(value).__qualname__} {text}"
        if type(value) is not torch.Tensor
        else text
    )
    if value.layout is torch.strided and not value.is_contiguous():
        text += f" with strides {value.stride()}"
    text += f" on {value.device}"
    text += " that requires a gradient" if value.requires_grad else ""
    return {"is": text, "dynamic": dynamic, "maybe": maybe, "static": static}


@contextmanager
def marked(args: tuple, kwargs: Mapping, leaves: Sequence[Mapping]) -> Iterator[None]:
    """Marks sizes in the block as they were marked where the function was compiled."""
    given = pytree.tree_leaves((args, dict(kwargs)))
    before = [
        (value, dict(vars(value)))
        for value, known in zip(given, leaves, strict=False)
        if isinstance(value, torch.Tensor) and len(known) > 1
    ]
    try:
        for value, known in zip(given, leaves, strict=False):
            if isinstance(value, torch.Tensor) and len(known) > 1:
                _mark(value, known)
        yield
    finally:
        for value, attributes in before:
            vars(value).clear()
            vars(value).update(attributes)


def _mark(value: torch.Tensor, known: Mapping) -> None:
    for dim, least, most in known["dynamic"]:
        if dim < value.dim():
            dynamic.mark_dynamic(value, dim, min=least, max=most)
    for dim in known["maybe"]:
        if dim < value.dim():
            dynamic.maybe_mark_dynamic(value, dim)
    for dim in known["static"]:
        if dim < value.dim():
            dynamic.mark_static(value, dim)
