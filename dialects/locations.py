"""Locations: where in the user's program an op comes from."""

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
