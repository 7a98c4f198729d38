"""What the recording of a program has to know of it, read off its launch program."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim
from girih.dialects.locations import position_of
from girih.dialects.types import buffer_parts, is_buffer

from . import torch_entry
from .mutation import written_arguments

_DEPENDS_ON_DATA = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)

# Tagged so for the sake of boolean indices, which no launch program has.
_INDEXING = frozenset({"aten.index.Tensor"})


LAUNCH, LIBRARY_CALL = 3, 8
"""Microseconds on the host of a kernel, and of a library's (H200, 2026-11-20)."""


class NotRecordable(Exception):
    """No graph of this program can be recorded; the message says why."""


@dataclass(frozen=True)
class Recordable:
    """A program's inputs and calls.

    Positions are those of its inputs, where the donated ones, which a call gets in one
    list, come first.

    Attributes:
        donated: how many inputs are donated.
        static: positions of parameters and buffers.
        written: positions of inputs that the program writes.
        uncounted: those among them that keep their versions.
        numbers: positions of inputs that are Python numbers.
        sizes: position and dim of each size that varies.
        returned: numbers of results that the user gets, other than gradients.
        calls: for each ATen call its name and the user's line.
        microseconds: about what a call takes on the host.
        hindrance: why no graph of it can be recorded, or None.
    """

    donated: int
    static: frozenset[int]
    written: frozenset[int]
    numbers: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]
    uncounted: frozenset[int] = frozenset()
    returned: frozenset[int] = frozenset()
    calls: tuple[tuple[str, str], ...] = ()
    microseconds: int = 0
    hindrance: str | None = None

    def place_of(self, name: str, occurrence: int = 0) -> str:
        """The user's line of the n-th call of an ATen op, or ""."""
        places = [place for called, place in self.calls if called == name]
        return places[min(occurrence, len(places) - 1)] if places else ""


def recordable(function: ir.OpView, returned: frozenset[int]) -> Recordable:
    """Reads a host function `@main`.

    Args:
        function: the launch program.
        returned: its results that the user gets, other than gradients.
    """
    arguments = list(function.regions[0].blocks[0].arguments)
    attributes = _attributes(function, len(arguments))
    donated = [n for n, given in enumerate(attributes) if keys.DONATED in given]
    others = [n for n in range(len(arguments)) if n not in set(donated)]
    position = {number: i for i, number in enumerate([*donated, *others])}
    written = written_arguments(function)
    externs = [op for op in _body(function) if op.name == "host.extern"]
    return Recordable(
        donated=len(donated),
        static=frozenset(
            position[n] for n, given in enumerate(attributes) if keys.STATIC in given
        ),
        written=frozenset(position[n] for n in written.all),
        uncounted=frozenset(position[n] for n in written.uncounted),
        numbers=tuple(
            position[n]
            for n, argument in enumerate(arguments)
            if not is_buffer(argument.type) or keys.NUMBER in attributes[n]
        ),
        sizes=tuple(
            (position[n], dim)
            for n, argument in enumerate(arguments)
            if is_buffer(argument.type)
            for dim in _varying_dims(argument)
        ),
        returned=returned,
        calls=tuple((op.op, _place(op)) for op in externs),
        microseconds=LIBRARY_CALL * len(externs) + _launches(function),
        hindrance=_hindrance(externs),
    )


def _body(function: ir.OpView) -> list[ir.OpView]:
    return list(function.regions[0].blocks[0].operations)


def _attributes(function: ir.OpView, count: int) -> list:
    """The attributes of the arguments."""
    if "arg_attrs" not in function.attributes:
        return [{}] * count
    return list(function.attributes["arg_attrs"])


def _varying_dims(argument: ir.Value) -> list[int]:
    shape = buffer_parts(argument.type).shape
    return [dim for dim, size in enumerate(shape) if isinstance(size, Dim)]


def _launches(function: ir.OpView) -> int:
    """Microseconds of all launches."""
    return sum(
        LIBRARY_CALL if launch.kernel == "matmul" else LAUNCH
        for op in _body(function)
        if op.name == "host.native"
        for launch in op.launches
    )


def _place(op: ir.OpView) -> str:
    return str(position_of(op.operation.location) or "")


def _hindrance(externs: list[ir.OpView]) -> str | None:
    for op in externs:
        if op.op in torch_entry.OWN or op.op in _INDEXING:
            continue
        if any(tag in torch_entry.overload(op.op).tags for tag in _DEPENDS_ON_DATA):
            reason = f"{op.op} has a result whose size depends on data"
            return with_place(reason, _place(op))
    return None


def with_place(reason: str, place: str) -> str:
    """A reason with the user's line, where that is known."""
    return f"{reason} ({place})" if place else reason
