"""Operators that write memory which overlaps, against eager.

What an operator writes in place, or as ``out=``, lies in one memory with itself, so
that several elements are one, or with another operand. Eager refuses that or gives
something.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from operator_calls import Call, calls, compiled, outcome, unlike
from torch import Tensor
from torch.utils import _pytree as pytree

# Operators whose ``out=`` eager itself writes beyond the memory of.
UNCHECKED = ("narrow_copy", "nn.functional.avg_pool3d")
# Those whose ``out=`` eager fills with one element over the other; girih refuses that.
REFUSED = ("nn.functional.linear",)


@dataclass(frozen=True)
class Place:
    """How a tensor lies in the memory: its sizes, strides and first element."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def of(self, memory: Tensor) -> Tensor:
        """The view."""
        return memory.as_strided(self.shape, self.strides, self.offset)

    def extent(self) -> int:
        """The number of elements up to the end of the view."""
        if 0 in self.shape:
            return self.offset
        steps = zip(self.shape, self.strides, strict=True)
        return self.offset + 1 + sum((n - 1) * step for n, step in steps)


@dataclass(frozen=True)
class Overlap:
    """A call that writes a tensor.

    Attributes:
        label: Names the sample, how it writes and how its tensors lie.
        write: Takes the tensors; the first of them is written.
        others: The tensors that lie elsewhere, by their place in ``write``.
        places: Those that lie in the memory, likewise.
        memory: What it holds.
    """

    label: str
    write: Callable[..., Any]
    others: dict[int, Tensor]
    places: dict[int, Place]
    memory: Tensor

    def function(self, memory: Tensor, *others: Tensor) -> Any:
        """The call with views that it makes of the memory itself."""
        given = {n: place.of(memory) for n, place in self.places.items()}
        given |= dict(zip(self.others, others, strict=True))
        return self.write(*(given[n] for n in range(len(given))))

    def inputs(self, *, is_inside: bool) -> tuple[Tensor, list[Tensor]]:
        """The memory, and what the call is given: that memory, or views of it."""
        memory = self.memory.clone()
        others = [x.clone() for x in self.others.values()]
        if is_inside:
            return memory, [memory, *others]
        given = {n: place.of(memory) for n, place in self.places.items()}
        given |= dict(zip(self.others, others, strict=True))
        return memory, [given[n] for n in range(len(given))]


def overlaps(name: str, op: Any, limit: int) -> Iterator[Overlap]:
    """All ways to overlap for samples of one operator."""
    every = (c for c in calls(name, op, None) if _has_elements(c))
    for call in itertools.islice(every, limit):
        if op.inplace_variant is not None and isinstance(call.leaves[0], Tensor):
            yield from _spread(call, "in place", *_in_place(call))
        if op.supports_out and name not in UNCHECKED:
            made = _with_out(call)
            if made is not None:
                yield from _spread(call, "out", *made)


def _has_elements(call: Call) -> bool:
    found = [leaf for leaf in call.leaves if isinstance(leaf, Tensor)]
    return bool(found) and 2 <= found[0].numel() <= 4096


def _tensors(leaves: tuple) -> list[int]:
    return [n for n, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]


def _in_place(call: Call) -> tuple[Callable, list[Tensor]]:
    places = _tensors(call.leaves)

    def write(*tensors: Tensor) -> Any:
        args, kwargs = call.arguments(_filled(call.leaves, places, tensors))
        return call.op.inplace_variant(*args, **kwargs)

    return write, [call.leaves[n] for n in places]


def _with_out(call: Call) -> tuple[Callable, list[Tensor]] | None:
    """The call with ``out=``, and its tensors after those that are written."""
    args, kwargs = call.arguments(call.leaves)
    try:
        results = call.op.op(*args, **kwargs)
    except Exception:  # noqa: BLE001  (what does not run is no sample)
        return None
    is_one = isinstance(results, Tensor)
    results = [results] if is_one else list(pytree.tree_leaves(results))
    if not all(isinstance(x, Tensor) for x in results):
        return None
    places = _tensors(call.leaves)

    def write(*tensors: Tensor) -> Any:
        outs, rest = tensors[: len(results)], tensors[len(results) :]
        args, kwargs = call.arguments(_filled(call.leaves, places, rest))
        return call.op.op(*args, **kwargs, out=outs[0] if is_one else outs)

    written = [torch.zeros_like(x) for x in results]
    return write, [*written, *(call.leaves[n] for n in places)]


def _filled(leaves: tuple, places: list[int], tensors: tuple) -> list:
    filled = list(leaves)
    for place, tensor in zip(places, tensors, strict=True):
        filled[place] = tensor
    return filled


def _spread(call: Call, how: str, write: Callable, tensors: list) -> Iterator[Overlap]:
    target = tensors[0]
    if target.numel() < 2 or target.numel() > 4096:
        return

    def made(kind: str, places: dict[int, Place]) -> Overlap:
        label = f"{call.label} {how}, {kind}"
        rest = {n: x for n, x in enumerate(tensors) if n not in places}
        size = max(place.extent() for place in places.values())
        held = [tensors[n].flatten() for n in sorted(places, reverse=True)]
        memory = torch.cat([*held, *held])
        memory = memory.repeat(math.ceil(size / len(memory)))[:size].clone()
        return Overlap(label, write, rest, places, memory)

    shape = tuple(target.shape)
    strides = _contiguous(shape)
    for dim in {next(n for n, size in enumerate(shape) if size > 1), len(shape) - 1}:
        if shape[dim] > 1:
            repeated = (*strides[:dim], 0, *strides[dim + 1 :])
            yield made(f"repeated along {dim}", {0: Place(shape, repeated)})
    yield made("windows", {0: Place(shape, (1,) * len(shape))})
    for n, other in enumerate(tensors[1:], 1):
        if other.dtype != target.dtype or other.numel() < 2 or other.is_conj():
            continue
        its = tuple(other.shape)
        here = Place(its, _contiguous(its))
        yield made(f"shifted by one from {n}", {0: Place(shape, strides, 1), n: here})
        yield made(f"the memory of {n}", {0: Place(shape, strides), n: here})
        if len(shape) > 1:
            across = tuple(reversed(_contiguous(tuple(reversed(shape)))))
            yield made(f"transposed {n}", {0: Place(shape, across), n: here})


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[n + 1 :]) for n in range(len(shape)))


def difference(case: Overlap, entrance: str, is_inside: bool, dynamic: bool) -> str:
    """How a compiled call differs from eager, or ""."""
    function = case.function if is_inside else case.write
    expected = _left(function, *case.inputs(is_inside=is_inside))
    if "gives" == expected[0]:
        again = _left(function, *case.inputs(is_inside=is_inside))
        if unlike(expected, again):
            return ""  # eager gives something else each time
    candidate = compiled(function, entrance, dynamic)
    actual = _left(candidate, *case.inputs(is_inside=is_inside))
    is_loud = actual[0] == "raises" and "single memory location" in actual[2]
    if is_loud and case.label.startswith(REFUSED):
        return ""
    return unlike(expected, actual, is_wrapped=entrance == "torch")


def _left(function: Callable, memory: Tensor, given: list) -> tuple:
    """The outcome of a call, and what it leaves in the memory."""
    seen = outcome(function, given)
    return seen if seen[0] == "raises" else (*seen, memory)
