"""Events of ``torch.profiler``: one for each call of a program, and for each kernel.

A program knows the names; the profiler's own flag says whether somebody watches, and
programs look at it once a call. ATen calls have events of torch's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

import torch
import torch.autograd.profiler

from girih.dialects.bindings import ir
from girih.dialects.dims import product
from girih.dialects.locations import Position, names_of, positions_of
from girih.dialects.types import buffer_parts, byte_width

from . import _runtime

PREFIX = "girih::"
"""What the names of events begin with."""


class Event(NamedTuple):
    """What an event is of.

    Attributes:
        name: That of a kernel, or of a program.
        operations: What the user's program calls there: ``add, softmax, gelu``.
        lines: Where the user's program asks for it: ``model.py:7, 8; layers.py:30``.
        bytes: What the tensors of a kernel take; None where sizes are symbolic, and
            for programs.
    """

    name: str
    operations: str = ""
    lines: str = ""
    bytes: int | None = None


def record(event: Event) -> AbstractContextManager:
    """An event of ``torch.profiler``."""
    found = {"operations": event.operations, "lines": event.lines}
    shown = {name: text for name, text in found.items() if text}
    return torch._C._profiler._RecordFunctionFast(PREFIX + event.name, (), shown)


def replay_of(program: object) -> AbstractContextManager:
    """The event of a CUDA graph that stands for a program's call."""
    event = getattr(program, "event", None)
    if event is None or not torch.autograd.profiler._is_profiler_enabled:
        return nullcontext()
    return record(Event(f"{event.name} (CUDA graph)"))


_runtime.watch_flag(vars(torch.autograd.profiler), "_is_profiler_enabled", record)


@contextmanager
def observed(make: Callable[[Event], AbstractContextManager]):
    """Has all programs of the process open events that ``make`` returns."""
    before = _runtime.set_observer(make)
    try:
        yield
    finally:
        _runtime.set_observer(before)


class Events:
    """Describes the launches of one program."""

    def __init__(self) -> None:
        self._places: dict[ir.Attribute, tuple[str, str]] = {}

    def of_launches(self, launches: Sequence[ir.OpView]) -> tuple[Event, ...]:
        """An event for each launch."""
        return tuple(
            Event(op.kernel, *self._place_of(op.location), _bytes_of(op.operands))
            for op in launches
        )

    def of_table(self, launches: Sequence[ir.OpView]) -> Event:
        """One event for launches on a device, which has events of its own."""
        first, *others = self.of_launches(launches)
        return first._replace(name=f"{first.name} + {len(others)}") if others else first

    def _place_of(self, location: ir.Location) -> tuple[str, str]:
        key = location.attr
        if key not in self._places:
            self._places[key] = operations_of(location), lines_of(location)
        return self._places[key]


def operations_of(location: ir.Location) -> str:
    """The ATen ops that a location names, as ``add, softmax``."""
    found: dict[str, None] = {}
    for name in names_of(location):
        _, _, operation = name.partition(".")
        found.setdefault((operation or name).partition(".")[0].strip("_"))
    return ", ".join(found)


def _bytes_of(buffers: Iterable[ir.Value]) -> int | None:
    total = 0
    for parts in map(buffer_parts, {value: value.type for value in buffers}.values()):
        count = product(parts.shape)
        if not isinstance(count, int):
            return None
        total += count * byte_width(parts.element_type)
    return total


def lines_of(location: ir.Location) -> str:
    """The lines of a location, by file, as ``model.py:7, 8; layers.py:30``."""
    files: dict[str, list[int]] = {}
    for position in sorted(set(positions_of(location)), key=_file_and_line):
        numbers = files.setdefault(position.file.rpartition("/")[2], [])
        if position.line not in numbers:
            numbers.append(position.line)
    return "; ".join(
        f"{file}:{', '.join(map(str, numbers))}" for file, numbers in files.items()
    )


def _file_and_line(position: Position) -> tuple[str, int]:
    return position.file, position.line
