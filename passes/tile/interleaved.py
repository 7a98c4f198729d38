"""Stores whose rows lie between each other, so that they are one row in memory."""

from collections.abc import Iterable

from girih.passes.tile.domain import Store
from girih.passes.tile.index import Coordinate

# Rows that are interleaved: squares are turned for more (`widths.SMALLEST_SIDE`).
MOST_ROWS = 7


def interleaved(
    stores: Iterable[Store], lanes: Coordinate | None
) -> list[tuple[Store, ...]]:
    """The stores in their order, those together whose lanes are stored in turn."""
    left, groups = list(stores), []
    while left:
        count = _rows(left, lanes)
        groups.append(tuple(left[:count]))
        left = left[count:]
    return groups


def _rows(stores: list[Store], lanes: Coordinate | None) -> int:
    """How many of the first stores have elements in turn; 1 where none have."""
    first = stores[0]
    if lanes is None or first.accumulates:
        return 1
    step = first.offset.coefficient(lanes)
    if not isinstance(step, int) or not 2 <= step <= min(MOST_ROWS, len(stores)):
        return 1
    are_in_turn = all(
        other.buffer == first.buffer
        and other.offset == first.offset + place
        and not other.accumulates
        for place, other in enumerate(stores[:step])
    )
    return step if are_in_turn else 1
