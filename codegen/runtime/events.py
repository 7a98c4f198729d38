"""Events of ``torch.profiler``: for each call of a program, kernel and library call.

A program knows the names; the profiler's own flag says whether somebody watches, and
programs look at it once a call. torch's own events of ATen calls lie inside of girih's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from girih.dialects.bindings import ir
from girih.dialects.dims import product
from girih.dialects.locations import Position, names_of, positions_of, regions_of
from girih.dialects.types import buffer_parts, byte_width, is_buffer

from .event import Event
from .flops import flops_of_call, flops_of_launch

_Place = tuple[str, str, tuple[Position, ...], tuple[str, ...]]
"""Operations, lines, positions, and blocks of the user's."""


class Events:
    """Describes the launches and library calls of one program."""

    def __init__(self) -> None:
        self._places: dict[ir.Attribute, _Place] = {}
        self._all: dict[Event, None] = {}

    def of_program(self, name: str) -> Event:
        """The event of a call of the program, when all else is described."""
        return Event(name, kind="program", parts=tuple(self._all))

    def of_launches(self, launches: Sequence[ir.OpView]) -> tuple[Event, ...]:
        """An event for each launch."""
        return tuple(map(self._of_launch, launches))

    def of_table(self, launches: Sequence[ir.OpView]) -> Event:
        """One event for launches on a device, which has events of its own."""
        first, *others = self.of_launches(launches)
        if not others:
            return first
        name = f"{first.name} + {len(others)}"
        regions = joined([each.regions for each in (first, *others)])
        return first._replace(name=name, parts=(first, *others), regions=regions)

    def of_call(self, op: ir.OpView) -> Event:
        """An event for a call of an operator of a library."""
        moved = _bytes_of([*op.operands, *op.results])
        flops = flops_of_call(op)
        return self._noted(op.op, op.location, moved, flops, "call")

    def _of_launch(self, op: ir.OpView) -> Event:
        moved = _bytes_of(op.operands)
        return self._noted(op.kernel, op.location, moved, flops_of_launch(op), "kernel")

    def _noted(self, name: str, location: ir.Location, *details: object) -> Event:
        place = self._place_of(location)
        event = Event(name, *place[:2], *details, places=place[2], regions=place[3])
        self._all.setdefault(event)
        return event

    def _place_of(self, location: ir.Location) -> _Place:
        key = location.attr
        if key not in self._places:
            places, regions = places_of(location), joined([*regions_of(location)])
            found = operations_of(location), lines_of(places), places, regions
            self._places[key] = found
        return self._places[key]


def joined(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The blocks around a kernel, given those around each of its operations.

    Where they are in different ones, one name has all, after the blocks around both.
    """
    first, *others = dict.fromkeys(path for path in paths if path) or [()]
    shared = 0
    while others and all(p[: shared + 1] == first[: shared + 1] for p in others):
        shared += 1
    if not others:
        return first
    rest = (" / ".join(path[shared:]) for path in (first, *others) if path[shared:])
    return (*first[:shared], " + ".join(rest))


def operations_of(location: ir.Location) -> str:
    """The ATen ops that a location names, as ``add, softmax``."""
    found: dict[str, None] = {}
    for name in names_of(location):
        _, _, operation = name.partition(".")
        found.setdefault((operation or name).partition(".")[0].strip("_"))
    return ", ".join(found)


def _bytes_of(buffers: Iterable[ir.Value]) -> int | None:
    total = 0
    types = {value: value.type for value in buffers if is_buffer(value.type)}
    for parts in map(buffer_parts, types.values()):
        count = product(parts.shape)
        if not isinstance(count, int):
            return None
        total += count * byte_width(parts.element_type)
    return total


def places_of(location: ir.Location) -> tuple[Position, ...]:
    """The positions of a location, each once, by file and line."""
    return tuple(sorted(set(positions_of(location)), key=_file_and_line))


def lines_of(places: Iterable[Position]) -> str:
    """Lines by file, as ``model.py:7, 8; layers.py:30``."""
    files: dict[str, list[int]] = {}
    for position in places:
        numbers = files.setdefault(position.file.rpartition("/")[2], [])
        if position.line not in numbers:
            numbers.append(position.line)
    return "; ".join(
        f"{file}:{', '.join(map(str, numbers))}" for file, numbers in files.items()
    )


def _file_and_line(position: Position) -> tuple[str, int]:
    return position.file, position.line
