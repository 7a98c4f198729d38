"""The exception table and the table of source positions of a code object.

Source:
    https://github.com/python/cpython/blob/3.12/Objects/exception_handling_notes.txt
    https://github.com/python/cpython/blob/3.12/Objects/locations.md
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from girih.frontend.capture.resume.identity import per_code

Position = tuple[int | None, int | None, int | None, int | None]
"""First line, last line, first column, last column."""


class Handler(NamedTuple):
    """An entry of the exception table; places are in code units.

    Attributes:
        start: The first unit that it covers.
        end: The first one after them.
        target: Where the handler begins.
        depth: Height of the stack to unwind to.
        lasti: Whether the place of the raising instruction is pushed.
    """

    start: int
    end: int
    target: int
    depth: int
    lasti: bool

    def moved(self, distance: int) -> Handler:
        """The same entry, for code that stands further after."""
        start, end, target, depth, lasti = self
        return Handler(
            start + distance, end + distance, target + distance, depth, lasti
        )


@per_code
def handlers_of(code: types.CodeType) -> list[Handler]:
    """The exception table, decoded."""
    table = iter(code.co_exceptiontable)
    found = []
    while (start := _read(table)) is not None:
        length, target, depth = _read(table), _read(table), _read(table)
        found.append(
            Handler(start, start + length, target, depth >> 1, bool(depth & 1))
        )
    return found


def handler_at(handlers: list[Handler], unit: int) -> Handler | None:
    """The handler that covers a code unit."""
    for handler in handlers:
        if handler.start <= unit < handler.end:
            return handler
    return None


def _read(table: Iterator[int]) -> int | None:
    byte = next(table, None)
    if byte is None:
        return None
    value = byte & 63
    while byte & 64:
        byte = next(table)
        value = value << 6 | byte & 63
    return value


def encode_handlers(handlers: Iterable[Handler]) -> bytes:
    """``co_exceptiontable`` of entries that are sorted by start."""
    data = bytearray()
    for start, end, target, depth, lasti in handlers:
        first = len(data)
        for number in (start, end - start, target, depth << 1 | lasti):
            data += _big_endian(number)
        data[first] |= 128
    return bytes(data)


def _big_endian(number: int) -> bytes:
    chunks = [number & 63]
    while number := number >> 6:
        chunks.append(number & 63 | 64)
    return bytes(reversed(chunks))


def position_at(code: types.CodeType, offset: int) -> Position:
    """The position of the instruction at a byte offset."""
    return next(itertools.islice(code.co_positions(), offset // 2, None))


def encode_positions(
    runs: Iterable[tuple[int, Position]], line: int
) -> tuple[bytes, int]:
    """A part of ``co_linetable``.

    Args:
        runs: Numbers of code units with their position.
        line: The line that the first entry is relative to.

    Returns:
        The entries, and the line that the next entry is relative to.
    """
    data = bytearray()
    for units, position in runs:
        while units > 0:
            line = _encode_entry(data, min(units, 8), position, line)
            units -= 8
    return bytes(data), line


def _encode_entry(data: bytearray, units: int, position: Position, line: int) -> int:
    first, last, column, end_column = position
    if first is None:
        data.append(_NOWHERE | units - 1)
        return line
    exact = None not in position
    data.append((_EXACT if exact else _LINE_ONLY) | units - 1)
    delta = first - line
    data += _little_endian(-delta << 1 | 1 if delta < 0 else delta << 1)
    if exact:
        for number in (last - first, column + 1, end_column + 1):
            data += _little_endian(number)
    return first


_LINE_ONLY = 128 | 13 << 3
_EXACT = 128 | 14 << 3
_NOWHERE = 128 | 15 << 3


def _little_endian(number: int) -> bytes:
    chunks = []
    while number >= 64:
        chunks.append(number & 63 | 64)
        number >>= 6
    return bytes([*chunks, number])
