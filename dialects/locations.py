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
    match location:
        case ir.FileLineColLoc():
            return Position(location.filename, location.start_line, location.start_col)
        case ir.NameLoc():
            return position_of(location.child_loc)
        case ir.CallSiteLoc():
            return position_of(location.callee)
        case ir.FusedLoc():
            positions = map(position_of, location.locations)
            return next((found for found in positions if found), None)
    return None
