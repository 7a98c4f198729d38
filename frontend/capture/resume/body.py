"""The instructions after a prologue: the original ones, their variables moved.

What is passed beside the locals is passed as further locals, which stand between the
locals and the cells; so the places of cells and free variables change. Mostly that
changes single bytes. Where a place no longer fits into its instruction the body is
written anew, and everything after that instruction moves too.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass

from girih.frontend.capture.resume.instructions import (
    BACKWARD,
    CACHES,
    EXTENDED_ARG,
    INDEXED,
    JUMPS,
    PAIRED,
    Instruction,
    decode,
    encode,
    width,
)
from girih.frontend.capture.resume.tables import (
    Handler,
    encode_positions,
    handlers_of,
)

Piece = tuple[int, int]
"""Opcode and argument."""


@dataclass(frozen=True)
class Body:
    """The instructions after a prologue.

    Attributes:
        data: Their code.
        positions: Their part of the line table.
        handlers: Their exception table, in code units of the body.
        units: The new place of each original code unit, and of their end; None where
            nothing moved.
        indices: The original index of each new instruction; None where nothing moved.
    """

    data: bytes
    positions: bytes
    handlers: list[Handler]
    units: tuple[int, ...] | None = None
    indices: tuple[int, ...] | None = None

    def unit(self, unit: int) -> int:
        """The new place of an original code unit."""
        return unit if self.units is None else self.units[unit]


def body_of(code: types.CodeType, moved: Callable[[int], int]) -> Body:
    """The body of a code object, variables being at ``moved(place)``."""
    data = bytearray(code.co_code)
    for instruction in decode(code):
        if instruction.op not in _VARIABLES:
            continue
        new = moved_pieces(instruction, moved)
        if new != [instruction[:2]] and not _overwrite(data, instruction, new):
            return rewrite(code, [moved_pieces(ins, moved) for ins in decode(code)])
    return Body(bytes(data), code.co_linetable, handlers_of(code))


_VARIABLES = INDEXED | PAIRED.keys()


def moved_pieces(instruction: Instruction, moved: Callable[[int], int]) -> list[Piece]:
    """What an instruction becomes; a pair of places that are too high, two."""
    op, arg, _, _ = instruction
    if op in INDEXED:
        return [(op, moved(arg))]
    if op not in PAIRED:
        return [(op, arg)]
    first, second = moved(arg >> 4), moved(arg & 15)
    if first < 16 and second < 16:
        return [(op, first << 4 | second)]
    return [(PAIRED[op][0], first), (PAIRED[op][1], second)]


def _overwrite(data: bytearray, instruction: Instruction, new: list[Piece]) -> bool:
    """Puts a new argument in the place of the old one, where it fits."""
    (_, arg), *more = new
    if more or width(arg) > width(instruction.arg):
        return False
    offset = instruction.offset
    while offset >= 0 and (
        offset == instruction.offset or data[offset] == EXTENDED_ARG
    ):
        data[offset + 1] = arg & 255
        arg, offset = arg >> 8, offset - 2
    return True


# ---- writing the body anew ---------------------------------------------------------


@dataclass
class _Group:
    """An instruction with its EXTENDED_ARGs, and what is written in its place.

    Attributes:
        first: Index of the first EXTENDED_ARG, or of the instruction.
        index: Index of the instruction.
        instruction: The instruction.
        pieces: What is written: opcode, argument, width of the argument.
        target: Number of the group that it jumps to, or None.
        start: Its new place in code units.
    """

    first: int
    index: int
    instruction: Instruction
    pieces: list[tuple[int, int, int]]
    target: int | None = None
    start: int = 0

    @property
    def units(self) -> int:
        """How many code units are written."""
        return sum(wide + CACHES[op] for op, _, wide in self.pieces)

    def jump_to(self, start: int) -> bool:
        """Jumps to a code unit; says whether the argument became wider for it.

        It never becomes narrower, so that placing comes to an end.
        """
        op, _, old = self.pieces[-1]
        distance = start - self.start - self.units
        arg = -distance if op in BACKWARD else distance
        wide = max(width(arg), old)
        self.pieces[-1] = (op, arg, wide)
        return wide > old


def rewrite(code: types.CodeType, pieces: list[list[Piece]]) -> Body:
    """A body in which other instructions stand in the place of each one.

    Args:
        code: The original.
        pieces: For each instruction (EXTENDED_ARGs are made anew) what is written. An
            instruction that jumps is the last of its pieces.
    """
    groups = _groups(decode(code), pieces)
    while _place(groups):
        pass
    written = [encode(*piece) for group in groups for piece in group.pieces]
    units = _unit_map(groups)
    where = list(code.co_positions())
    runs = [(group.units, where[group.instruction.offset // 2]) for group in groups]
    positions, _ = encode_positions(runs, code.co_firstlineno)
    handlers = [
        Handler(units[start], units[end], units[target], depth, lasti)
        for start, end, target, depth, lasti in handlers_of(code)
    ]
    return Body(b"".join(written), positions, handlers, units, _index_map(groups))


def _groups(instructions: list[Instruction], pieces: list[list[Piece]]) -> list[_Group]:
    groups: list[_Group] = []
    numbers: dict[int, int] = {}
    first = 0
    for index, instruction in enumerate(instructions):
        if instruction.op == EXTENDED_ARG:
            continue
        numbers[instructions[first].offset] = len(groups)
        wide = [(op, arg, width(arg)) for op, arg in pieces[index]]
        groups.append(_Group(first, index, instruction, wide))
        first = index + 1
    for group in groups:
        if group.instruction.op in JUMPS:
            group.target = numbers[group.instruction.target()]
    return groups


def _place(groups: list[_Group]) -> bool:
    """Places the groups one after another; says whether a jump became wider for it."""
    start = 0
    for group in groups:
        group.start = start
        start += group.units
    targets = [(group, group.target) for group in groups if group.target is not None]
    return any([group.jump_to(groups[target].start) for group, target in targets])


def _unit_map(groups: list[_Group]) -> tuple[int, ...]:
    """The new place of each code unit: for an instruction, that of all its pieces."""
    units: list[int] = []
    for group in groups:
        instruction, after = group.instruction, group.start + group.units
        units += [group.start] * (instruction.offset // 2 + 1 - len(units))
        units += range(after - CACHES[instruction.op], after)
    return (*units, groups[-1].start + groups[-1].units)


def _index_map(groups: list[_Group]) -> tuple[int, ...]:
    """The original index of each new instruction."""
    found: list[int] = []
    for group in groups:
        for _, _, wide in group.pieces:
            found += [group.first] * (wide - 1) + [group.index]
    return tuple(found)
