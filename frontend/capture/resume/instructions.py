"""Instructions in code objects: decoding, emitting, their caches and prefixes.

Source: https://docs.python.org/3.12/library/dis.html
"""

from __future__ import annotations

import dis
import opcode
import sys
import types
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from girih.frontend.capture.resume.identity import per_code

T = TypeVar("T")


def by_version(table: dict[tuple[int, int], T]) -> T:
    """The value for this CPython; the keys are the versions from which values hold."""
    return table[max(since for since in table if since <= sys.version_info[:2])]


OPS = {name: op for name, op in dis.opmap.items() if op < 256}
_ENTRIES = opcode._inline_cache_entries
EXTENDED_ARG = OPS["EXTENDED_ARG"]

# Code units after an instruction that the interpreter keeps for itself. A list by
# opcode up to 3.12, a dict by name from 3.13 on.
CACHES: dict[int, int] = {
    op: _ENTRIES.get(name, 0) if isinstance(_ENTRIES, dict) else _ENTRIES[op]
    for name, op in OPS.items()
}

# What stands before an instruction and is one with it.
PREFIXES = frozenset(
    OPS[name] for name in ("EXTENDED_ARG", "KW_NAMES", "PRECALL") if name in OPS
)

# Instructions whose argument is an index of a local, cell or free variable.
_INDEXED = frozenset(dis.haslocal) | frozenset(dis.hasfree)
# From 3.13 on some hold two indices, of four bits each: what they are in two.
PAIRED: dict[int, tuple[int, int]] = {
    OPS[f"{first}_FAST_{second}_FAST"]: (OPS[f"{first}_FAST"], OPS[f"{second}_FAST"])
    for first, second in (("LOAD", "LOAD"), ("STORE", "LOAD"), ("STORE", "STORE"))
    if f"{first}_FAST_{second}_FAST" in OPS
}
INDEXED = (_INDEXED & frozenset(OPS.values())) - PAIRED.keys()

BACKWARD = frozenset(op for name, op in OPS.items() if "JUMP_BACKWARD" in name)
JUMPS = frozenset(dis.hasjrel) & frozenset(OPS.values())


class Instruction(NamedTuple):
    """An instruction, its EXTENDED_ARGs being instructions of their own.

    Attributes:
        op: The opcode.
        arg: Its argument, EXTENDED_ARGs included.
        offset: Where it stands, in bytes.
        end: Where the next one stands; its caches lie before that.
    """

    op: int
    arg: int
    offset: int
    end: int

    @property
    def name(self) -> str:
        """Name of the opcode."""
        return dis.opname[self.op]

    def target(self) -> int:
        """Where it jumps to, in bytes."""
        distance = -self.arg if self.op in BACKWARD else self.arg
        return self.end + 2 * distance


@per_code
def decode(code: types.CodeType) -> list[Instruction]:
    """The instructions, indexed as ``dis.get_instructions`` indexes them."""
    return decode_bytes(code.co_code)


def decode_bytes(data: bytes) -> list[Instruction]:
    """The instructions in a piece of bytecode."""
    found = []
    offset = extended = 0
    while offset < len(data):
        op, arg = data[offset], data[offset + 1] | extended
        end = offset + 2 + 2 * CACHES.get(op, 0)
        found.append(Instruction(op, arg, offset, end))
        extended = arg << 8 if op == EXTENDED_ARG else 0
        offset = end
    return found


def unit_around(instructions: list[Instruction], index: int) -> tuple[int, int]:
    """First and last index of an instruction with what stands before it.

    A call is made by KW_NAMES (until 3.12), PRECALL (3.11) and CALL, each with its
    EXTENDED_ARGs: no stop is possible between them.
    """
    first = last = index
    while instructions[last].op in PREFIXES:
        last += 1
    while first and instructions[first - 1].op in PREFIXES:
        first -= 1
    return first, last


def width(arg: int) -> int:
    """How many code units an argument needs: one, and its EXTENDED_ARGs."""
    return 1 + (arg > 0xFF) + (arg > 0xFFFF) + (arg > 0xFFFFFF)


def encode(op: int, arg: int, wide: int = 0) -> bytes:
    """An instruction with EXTENDED_ARGs and empty caches.

    Args:
        op: The opcode.
        arg: Its argument.
        wide: How many code units the argument gets at least; NOPs fill them.
    """
    needed = width(arg)
    data = bytearray(bytes((OPS["NOP"], 0)) * max(wide - needed, 0))
    for number in range(needed - 1, 0, -1):
        data += bytes((EXTENDED_ARG, arg >> 8 * number & 255))
    return bytes(data) + bytes((op, arg & 255)) + bytes(2 * CACHES[op])


class Emitter:
    """Writes instructions."""

    def __init__(self):
        self.data = bytearray()

    @property
    def units(self) -> int:
        """How many code units have been written."""
        return len(self.data) // 2

    def emit(self, name: str, arg: int = 0) -> None:
        """Writes an instruction, with EXTENDED_ARGs and empty caches."""
        self.data += encode(OPS[name], arg)

    def detached(self, write: Callable[[], None]) -> bytes:
        """What ``write`` writes, taken out again; it must not depend on its place."""
        mark = len(self.data)
        write()
        written = bytes(self.data[mark:])
        del self.data[mark:]
        return written

    def append(self, data: bytes) -> None:
        """Writes instructions that are encoded already."""
        self.data += data
