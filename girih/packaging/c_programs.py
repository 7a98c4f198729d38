"""Launch programs without Python, which C runs: the part ``cprogram.bin``.

The instructions of a launch program call functions of torch. Where these only make
tensors, or ask them for a size or an address, the same can be said with numbers alone.
``codegen/c_runtime/program.h`` lists the instructions, ``docs/package-format.md`` the
bytes.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import torch

from girih.codegen.runtime import _runtime, torch_entry
from girih.codegen.runtime.assembler import Assembler

MAGIC = b"girihc 1"
MOST_DIMS = 16

Instruction = IntEnum(
    "Instruction",
    "CONSTANT ADD SUB MUL FLOORDIV CEILDIV MOD MAX MIN SIZE OFFSET POINTER EMPTY VIEW "
    "COPY WORKSPACE RELEASE RUN DISJOINT FREE RETURN",
    start=0,
)

_ARITHMETIC = {
    getattr(_runtime, f"OP_{name}"): Instruction[name]
    for name in ("ADD", "SUB", "MUL", "FLOORDIV", "CEILDIV", "MOD", "MAX", "MIN")
}

# The numbers that DLPack has for kinds of dtypes, and the bits of an element.
_DTYPES = {
    torch.bfloat16: (4, 16),
    torch.bool: (6, 8),
    torch.complex128: (5, 128),
    torch.complex32: (5, 32),
    torch.complex64: (5, 64),
    torch.float16: (2, 16),
    torch.float32: (2, 32),
    torch.float64: (2, 64),
    torch.float8_e4m3fn: (10, 8),
    torch.float8_e4m3fnuz: (11, 8),
    torch.float8_e5m2: (12, 8),
    torch.float8_e5m2fnuz: (13, 8),
    torch.int16: (0, 16),
    torch.int32: (0, 32),
    torch.int64: (0, 64),
    torch.int8: (0, 8),
    torch.uint16: (1, 16),
    torch.uint32: (1, 32),
    torch.uint64: (1, 64),
    torch.uint8: (1, 8),
}


class _NotInC(Exception):
    """An instruction that needs Python."""


def encode(assembler: Assembler) -> bytes | None:
    """The program for C; None where an instruction needs Python."""
    try:
        words = _Translation(assembler).words()
    except _NotInC:
        return None
    if sys.byteorder != "little":
        words.byteswap()
    return MAGIC + words.tobytes()


class _Translation:
    """One walk over the instructions of a launch program."""

    def __init__(self, assembler: Assembler):
        self._given = assembler
        self._at = 0
        self._written = array("q")
        self._registers = assembler.registers
        self._numbers: dict[int, int] = {}
        self._results: list[int] = []

    def words(self) -> array:
        """The words behind the first one."""
        while self._at < len(self._given.code):
            self._translate(self._next())
        counts = (self._given.inputs, self._given.values, self._registers)
        return array("q", [*counts, len(self._results)]) + self._written

    def _next(self) -> int:
        self._at += 1
        return self._given.code[self._at - 1]

    def _several(self, count: int) -> list[int]:
        return [self._next() for _ in range(count)]

    def _constant(self) -> Any:
        return self._given.constants[self._next()]

    def _emit(self, instruction: Instruction, *words: int) -> None:
        self._written.extend((int(instruction), *words))

    def _translate(self, opcode: int) -> None:
        if opcode in _ARITHMETIC:
            self._emit(_ARITHMETIC[opcode], *self._several(3))
        elif opcode in _VISITORS:
            _VISITORS[opcode](self)
        else:
            raise _NotInC(opcode)

    # Items

    def _item(self) -> Any:
        """An item: a ``_Slot``, a list of items, or the constant itself."""
        word = self._next()
        kind, index = (
            word & ((1 << _runtime.ITEM_KIND_BITS) - 1),
            word >> (_runtime.ITEM_KIND_BITS),
        )
        if kind == _runtime.ITEM_CONSTANT:
            constant = self._given.constants[index]
            return list(constant) if isinstance(constant, tuple) else constant
        if kind in (_runtime.ITEM_VALUE, _runtime.ITEM_REGISTER):
            return _Slot(index, kind == _runtime.ITEM_VALUE)
        return [self._item() for _ in range(index)]

    def _value(self, item: Any) -> int:
        if not isinstance(item, _Slot) or not item.is_value:
            raise _NotInC(item)
        return item.index

    def _register(self, item: Any) -> int:
        if isinstance(item, _Slot) and not item.is_value:
            return item.index
        if type(item) is not int:
            raise _NotInC(item)
        if item not in self._numbers:
            self._numbers[item] = self._registers
            self._emit(Instruction.CONSTANT, self._registers, item)
            self._registers += 1
        return self._numbers[item]

    def _dims(self, sizes: Any, strides: Any) -> list[int]:
        if not isinstance(sizes, list) or len(sizes) > MOST_DIMS:
            raise _NotInC(sizes)
        return [len(sizes), *map(self._register, [*sizes, *strides])]

    # Instructions

    def _call(self) -> None:
        destination, function, keywords, _, count = (
            self._next(),
            self._constant(),
            self._next(),
            self._next(),
            self._next(),
        )
        items = [self._item() for _ in range(count)]
        if keywords >= 0 or function not in _CALLS:
            raise _NotInC(function)
        _CALLS[function](self, destination, items)

    def _call_int(self) -> None:
        destination, function, count = self._next(), self._constant(), self._next()
        items = [self._item() for _ in range(count)]
        value = self._value(items[0])
        if function is torch_entry.size:
            self._emit(Instruction.SIZE, destination, value, items[1])
        elif function is torch_entry.storage_offset:
            self._emit(Instruction.OFFSET, destination, value)
        elif function is torch_entry.data_ptr:
            self._emit(Instruction.POINTER, destination, value)
        else:
            raise _NotInC(function)

    def _empty(self, destination: int, items: Sequence) -> None:
        sizes, strides, dtype = items
        code, bits = _DTYPES[dtype]
        dims = self._dims(sizes, strides)
        self._emit(Instruction.EMPTY, destination, code | bits << 8, *dims)

    def _view(
        self, destination: int, items: Sequence, *, absolute: bool = False
    ) -> None:
        base, sizes, strides, offset = items
        start = self._register(offset)
        dims = self._dims(sizes, strides)
        words = (destination, self._value(base), start, int(absolute))
        self._emit(Instruction.VIEW, *words, *dims)

    def _as_strided(self, destination: int, items: Sequence) -> None:
        self._view(destination, items, absolute=True)

    def _copy(self, destination: int, items: Sequence) -> None:
        if destination >= 0:
            raise _NotInC("copy_")
        self._emit(Instruction.COPY, *map(self._value, items))

    def _nothing(self, destination: int, items: Sequence) -> None:
        """Versions of tensors are for autograd."""

    def _run(self) -> None:
        function, _, _ = self._several(3)
        pointers = self._several(self._next())
        numbers = self._several(self._next())
        lists = (len(pointers), *pointers, len(numbers), *numbers)
        self._emit(Instruction.RUN, function, *lists)

    def _disjoint(self) -> None:
        written, others = self._several(2)
        pairs = self._several(2 * (written + others))
        self._emit(Instruction.DISJOINT, written, others, *pairs)

    def _return(self) -> None:
        item = self._item()
        if not isinstance(item, list):
            raise _NotInC(item)
        self._results = [self._value(each) for each in item]
        self._emit(Instruction.RETURN, *self._results)

    def _same(self, instruction: Instruction, count: int) -> None:
        self._emit(instruction, *self._several(count))


class _Slot:
    """The number of a value or a register."""

    def __init__(self, index: int, is_value: bool):
        self.index = index
        self.is_value = is_value


_CALLS: Mapping[Callable, Callable[[_Translation, int, Sequence], None]] = {
    torch_entry.as_strided: _Translation._as_strided,
    torch_entry.copy_: _Translation._copy,
    torch_entry.empty_strided: _Translation._empty,
    torch_entry.increment_version: _Translation._nothing,
    torch_entry.reinterpret: _Translation._view,
}

_VISITORS: Mapping[int, Callable[[_Translation], None]] = {
    _runtime.OP_CALL: _Translation._call,
    _runtime.OP_CALL_INT: _Translation._call_int,
    _runtime.OP_CONSTANT: lambda each: each._same(Instruction.CONSTANT, 2),
    _runtime.OP_DISJOINT: _Translation._disjoint,
    _runtime.OP_FREE: lambda each: each._same(Instruction.FREE, 1),
    _runtime.OP_RELEASE: lambda each: each._same(Instruction.RELEASE, 1),
    _runtime.OP_RETURN: _Translation._return,
    _runtime.OP_RUN: _Translation._run,
    _runtime.OP_WORKSPACE: lambda each: each._same(Instruction.WORKSPACE, 2),
}
