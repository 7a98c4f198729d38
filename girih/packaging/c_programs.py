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
from typing import Any, NamedTuple

from girih.codegen.runtime import _runtime, torch_entry
from girih.codegen.runtime.assembler import Assembler
from girih.packaging.c_operators import (
    NotInC,
    Slot,
    callable_from_c,
    dtype_word,
    name_of,
    operands_of,
)

MAGIC = b"girihc 2"
MOST_DIMS = 16

Instruction = IntEnum(
    "Instruction",
    "CONSTANT ADD SUB MUL FLOORDIV CEILDIV MOD MAX MIN SIZE OFFSET POINTER EMPTY VIEW "
    "COPY WORKSPACE RELEASE RUN DISJOINT STRIDE LAYOUT CALL FREE RETURN",
    start=0,
)

_ARITHMETIC = {
    getattr(_runtime, f"OP_{name}"): Instruction[name]
    for name in ("ADD", "SUB", "MUL", "FLOORDIV", "CEILDIV", "MOD", "MAX", "MIN")
}


class CProgram(NamedTuple):
    """A program for C.

    Attributes:
        words: The bytes of the part; None where an instruction needs Python.
        texts: What its calls of operators name.
        problem: Why it needs Python, or "".
    """

    words: bytes | None
    texts: tuple[str, ...] = ()
    problem: str = ""


def encode(assembler: Assembler, operators: Mapping[Callable, str]) -> CProgram:
    """The program for C.

    Args:
        assembler: What the run time executes.
        operators: The names of the operators that it calls.
    """
    translation = _Translation(assembler, operators)
    try:
        words = translation.words()
    except NotInC as error:
        return CProgram(None, (), str(error))
    if sys.byteorder != "little":
        words.byteswap()
    return CProgram(MAGIC + words.tobytes(), tuple(translation.texts))


class _Translation:
    """One walk over the instructions of a launch program."""

    def __init__(self, assembler: Assembler, operators: Mapping[Callable, str]):
        self._given = assembler
        self._operators = operators
        self.texts: dict[str, int] = {}
        self._at = 0
        self._written = array("q")
        self._registers = assembler.registers
        self._numbers: dict[int, int] = {}
        self._results: list[int] = []
        self._unpacked: dict[int, int] = {}

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
            raise NotInC(f"instruction {opcode}")

    # Items

    def _item(self) -> Any:
        """An item: a ``Slot``, a list of items, or the constant itself."""
        word = self._next()
        kind, index = (
            word & ((1 << _runtime.ITEM_KIND_BITS) - 1),
            word >> (_runtime.ITEM_KIND_BITS),
        )
        if kind == _runtime.ITEM_CONSTANT:
            constant = self._given.constants[index]
            return list(constant) if isinstance(constant, tuple) else constant
        if kind in (_runtime.ITEM_VALUE, _runtime.ITEM_REGISTER):
            return Slot(index, kind == _runtime.ITEM_VALUE)
        return [self._item() for _ in range(index)]

    def text(self, text: str) -> int:
        """The number of a text."""
        return self.texts.setdefault(text, len(self.texts))

    def value(self, item: Any) -> int:
        """The number of a value.

        Raises:
            NotInC: The item is no tensor.
        """
        if not isinstance(item, Slot) or not item.is_value:
            raise NotInC(item)
        return item.index

    def register(self, item: Any) -> int:
        """The register that holds a number.

        Raises:
            NotInC: The item is none.
        """
        if isinstance(item, Slot) and not item.is_value:
            return item.index
        if type(item) is not int:
            raise NotInC(item)
        if item not in self._numbers:
            self._numbers[item] = self._registers
            self._emit(Instruction.CONSTANT, self._registers, item)
            self._registers += 1
        return self._numbers[item]

    def _dims(self, sizes: Any, strides: Any) -> list[int]:
        if not isinstance(sizes, list) or len(sizes) > MOST_DIMS:
            raise NotInC(sizes)
        return [len(sizes), *map(self.register, [*sizes, *strides])]

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
        if function in _CALLS and keywords < 0:
            _CALLS[function](self, destination, items)
        elif function in self._operators:
            names = self._given.constants[keywords] if keywords >= 0 else ()
            self._operator(self._operators[function], destination, items, names)
        else:
            raise NotInC(name_of(function))

    def _operator(
        self, name: str, destination: int, items: Sequence, names: Sequence[str]
    ) -> None:
        """A call of an operator; its results are what the next instruction takes."""
        if name in torch_entry.OWN:
            raise NotInC(name.removesuffix(".default"))
        if not names:
            name, items = callable_from_c(name, items)
        operands = operands_of(name, items, names, self)
        schema = torch_entry.overload(name)._schema
        texts = self.text(schema.name), self.text(schema.overload_name)
        results = [destination]
        if not torch_entry.returns_one_tensor(name):
            kinds = {each.type.kind() for each in schema.returns}
            if not kinds <= {"TensorType"}:
                raise NotInC(f"the results of {name}")
            results = [-1] * len(schema.returns)
            # Behind the instruction, and its first three words.
            self._unpacked[destination] = len(self._written) + 4
        self._emit(Instruction.CALL, *texts, len(results), *results, *operands)

    def _unpack(self) -> None:
        """Says where the results go of a call that was written before."""
        value = self._next()
        destinations = self._several(self._next())
        if value not in self._unpacked:
            raise NotInC("a list of tensors")
        at = self._unpacked.pop(value)
        self._written[at : at + len(destinations)] = array("q", destinations)

    def _layout(self) -> None:
        value, _, _ = self._several(3)
        strides = self._item()
        if not isinstance(strides, list):
            raise NotInC("strides that are no tuple")
        self._emit(
            Instruction.LAYOUT, value, len(strides), *map(self.register, strides)
        )

    def _call_int(self) -> None:
        destination, function, count = self._next(), self._constant(), self._next()
        items = [self._item() for _ in range(count)]
        value = self.value(items[0])
        if function is torch_entry.size:
            self._emit(Instruction.SIZE, destination, value, items[1])
        elif function is torch_entry.stride:
            self._emit(Instruction.STRIDE, destination, value, items[1])
        elif function is torch_entry.storage_offset:
            self._emit(Instruction.OFFSET, destination, value)
        elif function is torch_entry.data_ptr:
            self._emit(Instruction.POINTER, destination, value)
        else:
            raise NotInC(name_of(function))

    def _empty(self, destination: int, items: Sequence) -> None:
        sizes, strides, dtype = items
        dims = self._dims(sizes, strides)
        self._emit(Instruction.EMPTY, destination, dtype_word(dtype), *dims)

    def _view(
        self, destination: int, items: Sequence, *, absolute: bool = False
    ) -> None:
        base, sizes, strides, offset = items
        start = self.register(offset)
        dims = self._dims(sizes, strides)
        words = (destination, self.value(base), start, int(absolute))
        self._emit(Instruction.VIEW, *words, *dims)

    def _as_strided(self, destination: int, items: Sequence) -> None:
        self._view(destination, items, absolute=True)

    def _copy(self, destination: int, items: Sequence) -> None:
        if destination >= 0:
            raise NotInC("copy_")
        self._emit(Instruction.COPY, *map(self.value, items))

    def _flatten(self, destination: int, items: Sequence) -> None:
        """C skips results that are no tensors."""
        self._unpacked[destination] = self._unpacked.pop(self.value(items[0]), 0)
        if not self._unpacked[destination]:
            raise NotInC("a list of tensors")

    def _nothing(self, destination: int, items: Sequence) -> None:
        """Versions of tensors are for autograd, and there is no autocast."""

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
            raise NotInC(item)
        self._results = [self.value(each) for each in item]
        self._emit(Instruction.RETURN, *self._results)

    def _same(self, instruction: Instruction, count: int) -> None:
        self._emit(instruction, *self._several(count))


_CALLS: Mapping[Callable, Callable[[_Translation, int, Sequence], None]] = {
    torch_entry.as_strided: _Translation._as_strided,
    torch_entry.copy_: _Translation._copy,
    torch_entry.empty_strided: _Translation._empty,
    torch_entry.flatten_tensors: _Translation._flatten,
    torch_entry.increment_version: _Translation._nothing,
    torch_entry.reinterpret: _Translation._view,
    torch_entry.without_autocast: _Translation._nothing,
}

_VISITORS: Mapping[int, Callable[[_Translation], None]] = {
    _runtime.OP_CALL: _Translation._call,
    _runtime.OP_CALL_INT: _Translation._call_int,
    _runtime.OP_CONSTANT: lambda each: each._same(Instruction.CONSTANT, 2),
    _runtime.OP_DISJOINT: _Translation._disjoint,
    _runtime.OP_FREE: lambda each: each._same(Instruction.FREE, 1),
    _runtime.OP_LAYOUT: _Translation._layout,
    _runtime.OP_RELEASE: lambda each: each._same(Instruction.RELEASE, 1),
    _runtime.OP_RETURN: _Translation._return,
    _runtime.OP_RUN: _Translation._run,
    _runtime.OP_UNPACK: _Translation._unpack,
    _runtime.OP_WORKSPACE: lambda each: each._same(Instruction.WORKSPACE, 2),
}
