"""Results of recorded graphs: lent, copied, or made of the inputs.

See [Note: results of recorded graphs] in `recording`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from . import torch_entry
from .addresses import SpansLike
from .recordable import NotRecordable


class View(NamedTuple):
    """A result that shares memory: with an input, or with another result."""

    place: int
    owner: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


@dataclass
class Results:
    """How the results of a call are put together.

    Attributes:
        values: those that are the same at each call; None for others.
        lent: `(place, arguments of torch_entry.reinterpret)`.
        cloned: `(place, arguments of empty_strided)`.
        sources: tensors of the graph for these.
        copies: what copies their memory.
        views: of other results.
        given: `(place, position)`: inputs.
        of_inputs: views of inputs.
        held: tensors of the graph that results lie in, by storage.
    """

    values: list = field(default_factory=list)
    lent: list[tuple[int, tuple]] = field(default_factory=list)
    cloned: list[tuple[int, tuple]] = field(default_factory=list)
    sources: list[Tensor] = field(default_factory=list)
    copies: SpansLike | None = None
    views: list[View] = field(default_factory=list)
    given: list[tuple[int, int]] = field(default_factory=list)
    of_inputs: list[View] = field(default_factory=list)
    held: dict[int, list[Tensor]] = field(default_factory=dict)

    def made(self, inputs: Sequence, empty_strided: Callable) -> tuple:
        """The results of a call with these inputs, after its graph was started.

        Args:
            inputs: of the call.
            empty_strided: from sizes, strides and dtype to a tensor on the device.
        """
        results = self.values.copy()
        reinterpret = torch_entry.reinterpret
        for place, arguments in self.lent:
            results[place] = reinterpret(*arguments)
        if self.cloned:
            targets = [empty_strided(*arguments) for _, arguments in self.cloned]
            self.copies.copy(targets, self.sources)
            for (place, _), target in zip(self.cloned, targets, strict=True):
                results[place] = target
        for place, owner, size, stride, offset in self.views:
            results[place] = results[owner].as_strided(size, stride, offset)
        for place, position in self.given:
            results[place] = inputs[position]
        for place, owner, size, stride, offset in self.of_inputs:
            start = inputs[owner].storage_offset() + offset
            results[place] = inputs[owner].as_strided(size, stride, start)
        return tuple(results)


def analysed(results: tuple, given: list, device: torch.device) -> Results:
    """Finds out what each result is."""
    made = Results(values=[None] * len(results))
    inputs = [(i, v) for i, v in enumerate(given) if isinstance(v, Tensor)]
    same = {id(value): i for i, value in reversed(inputs)}
    owners = {_storage_of(value): i for i, value in reversed(inputs)}
    first: dict[int, int] = {}
    for place, result in enumerate(results):
        if not isinstance(result, Tensor):
            made.values[place] = result
        elif result.device != device or result.layout != torch.strided:
            raise NotRecordable(
                f"result {place} is a {result.layout} tensor on {result.device}; a "
                "CUDA graph can return only strided tensors on its own device"
            )
        elif id(result) in same:
            made.given.append((place, same[id(result)]))
        elif (owner := owners.get(_storage_of(result))) is not None:
            offset = result.storage_offset() - given[owner].storage_offset()
            made.of_inputs.append(_view(place, owner, result, offset))
        else:
            _add_own(made, place, result, first)
    return made


def _add_own(made: Results, place: int, result: Tensor, first: dict) -> None:
    """A result in memory of the graph."""
    owner = first.setdefault(_storage_of(result), place)
    if owner != place and result._is_view():
        made.views.append(_view(place, owner, result, result.storage_offset()))
        return
    layout = tuple(result.size()), result.stride(), 0
    held = torch_entry.reinterpret(result, *layout)  # a view would keep its base
    made.held.setdefault(_storage_of(held), []).append(held)
    made.lent.append((place, (held, *layout)))


def choose_clones(made: Results, is_copied: Callable[[int, int], bool]) -> None:
    """Moves results to those that are copied, where they share no memory.

    Args:
        made: the results.
        is_copied: from the number of a result and its bytes.
    """
    shared = {view.owner for view in made.views}
    alone = {id(held[0]) for held in made.held.values() if len(held) == 1}
    for item in list(made.lent):
        place, (tensor, *_) = item
        if (
            place not in shared
            and id(tensor) in alone
            and is_copied(place, tensor.untyped_storage().nbytes())
        ):
            made.lent.remove(item)
            arguments = (tuple(tensor.size()), tensor.stride(), tensor.dtype)
            made.cloned.append((place, arguments))
            made.sources.append(tensor)


def _view(place: int, owner: int, result: Tensor, offset: int) -> View:
    return View(place, owner, tuple(result.size()), result.stride(), offset)


def _storage_of(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
