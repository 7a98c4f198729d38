"""Locations: where in the user's program an op comes from."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from girih.dialects.bindings import ir


class Position(NamedTuple):
    """A place in a file.

    Attributes:
        file: path as recorded.
        line: from 1; 0 if not known.
        column: from 1; 0 if not known.
    """

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}"


def position_of(location: ir.Location) -> Position | None:
    """Returns the file position that a location names, through names and fusions."""
    # Locations of diagnostics come as the base class.
    match ir.Location.from_attr(location.attr, location.context):
        case ir.FileLineColLoc() as found:
            return Position(found.filename, found.start_line, found.start_col)
        case ir.NameLoc() as found:
            return position_of(found.child_loc)
        case ir.CallSiteLoc() as found:
            return position_of(found.callee)
        case ir.FusedLoc() as found:
            positions = map(position_of, found.locations)
            return next((position for position in positions if position), None)
    return None


def rename_file(root: ir.Operation, old: str, new: str) -> None:
    """Gives the ops and block arguments under an op that lie in a file its name."""

    def renamed(location: ir.Location) -> ir.Location:
        match ir.Location.from_attr(location.attr, location.context):
            case ir.FileLineColLoc(filename=name) as found if name == old:
                return ir.Location.file(new, found.start_line, found.start_col)
        return location

    _change_all(root, renamed)


def remove_folders(root: ir.Operation) -> None:
    """Leaves the last part of each file's name in the locations under an op."""

    def shorter(location: ir.Location) -> ir.Location:
        match ir.Location.from_attr(location.attr, location.context):
            case ir.FileLineColLoc() as found:
                name = PurePath(found.filename).name
                return ir.Location.file(name, found.start_line, found.start_col)
            case ir.NameLoc() as found:
                return ir.Location.name(found.name_str, shorter(found.child_loc))
            case ir.CallSiteLoc() as found:
                caller = shorter(found.caller)
                return ir.Location.callsite(shorter(found.callee), [caller])
            case ir.FusedLoc() as found:
                return ir.Location.fused(list(map(shorter, found.locations)))
        return location

    with root.context:
        _change_all(root, shorter)


def _change_all(
    root: ir.Operation, change: Callable[[ir.Location], ir.Location]
) -> None:
    def visit(op: ir.Operation) -> ir.WalkResult:
        op.location = change(op.location)
        for region in op.regions:
            for block in region:
                for argument in block.arguments:
                    argument.set_location(change(argument.location))
        return ir.WalkResult.ADVANCE

    root.walk(visit)


_REGION = "record_function:"
"""What the name of a location begins with that stands for a block of the user's."""


def location_in(regions: Sequence[str], place: ir.Location) -> ir.Location:
    """A place inside of the user's ``record_function`` blocks, the outermost first."""
    for name in reversed(regions):
        place = ir.Location.name(_REGION + name, place)
    return place


def regions_of(location: ir.Location) -> Iterator[tuple[str, ...]]:
    """The blocks around each place that a location names, the outermost first."""
    match ir.Location.from_attr(location.attr, location.context):
        case ir.NameLoc() as found:
            own = (found.name_str,) if found.name_str.startswith(_REGION) else ()
            names = tuple(name.removeprefix(_REGION) for name in own)
            yield from (names + inner for inner in regions_of(found.child_loc))
        case ir.CallSiteLoc() as found:
            yield from regions_of(found.callee)
        case ir.FusedLoc() as found:
            for inner in found.locations:
                yield from regions_of(inner)
        case _:
            yield ()


def names_of(location: ir.Location) -> Iterator[str]:
    """The names in a location, the outermost first: of ATen ops, where it has any."""
    match ir.Location.from_attr(location.attr, location.context):
        case ir.NameLoc() as found if found.name_str.startswith(_REGION):
            yield from names_of(found.child_loc)
        case ir.NameLoc() as found:
            yield found.name_str
            yield from names_of(found.child_loc)
        case ir.CallSiteLoc() as found:
            yield from names_of(found.callee)
        case ir.FusedLoc() as found:
            for inner in found.locations:
                yield from names_of(inner)


def positions_of(location: ir.Location) -> Iterator[Position]:
    """All file positions that a location names."""
    match ir.Location.from_attr(location.attr, location.context):
        case ir.FusedLoc() as found:
            for inner in found.locations:
                yield from positions_of(inner)
        case other:
            position = position_of(other)
            if position is not None:
                yield position


def location_of_all(op: ir.OpView) -> ir.Location:
    """The locations of the ops in an op's first block; its own, where it has none."""
    if not len(op.regions) or not op.regions[0].blocks:
        return op.location
    body = op.regions[0].blocks[0].operations
    found = {inner.location.attr: inner.location for inner in body}
    return ir.Location.fused(list(found.values()))
