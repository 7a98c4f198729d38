"""Writes the instructions that the C object `Program` executes.

The words of each instruction are listed in `_program.h`. Registers hold int64 numbers
(sizes, pointers), values hold Python objects (tensors). Items describe arguments of
calls: see `Item`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from . import _runtime

Register = int
Value = int

ARITHMETIC = {
    "+": _runtime.OP_ADD,
    "-": _runtime.OP_SUB,
    "*": _runtime.OP_MUL,
    "//": _runtime.OP_FLOORDIV,
    "ceildiv": _runtime.OP_CEILDIV,
    "%": _runtime.OP_MOD,
    "max": _runtime.OP_MAX,
    "min": _runtime.OP_MIN,
}


@dataclass(frozen=True)
class Constant:
    """An item: a Python object that is known when the program is built."""

    object: object


@dataclass(frozen=True)
class ValueItem:
    """An item: the tensor in a value slot."""

    value: Value


@dataclass(frozen=True)
class RegisterItem:
    """An item: the number in a register, as a Python int."""

    register: Register


@dataclass(frozen=True)
class Group:
    """An item: a tuple or list of items, built at each call."""

    items: tuple[Item, ...]
    kind: type[tuple] | type[list] = tuple


Item = Constant | ValueItem | RegisterItem | Group


def group(items: Sequence[Item], kind: type[tuple] | type[list] = tuple) -> Item:
    """Groups items; a group of constants is a constant itself, built once."""
    if all(isinstance(item, Constant) for item in items):
        return Constant(kind(item.object for item in items))
    return Group(tuple(items), kind)


def _identity(constant: object) -> Hashable:
    """A key under which equal constants of one type may share a slot.

    Equality alone is not enough: 1 == 1.0 == True, and 0.0 == -0.0.
    """
    kind = type(constant)
    if kind in (int, bool, str):
        return (kind, constant)
    if kind is tuple:
        return (tuple, tuple(map(_identity, constant)))
    return id(constant)


@dataclass
class Assembler:
    """Collects instructions, constants and slots of one program.

    Attributes:
        inputs: how many values it is called with.
        code: the words of its instructions.
        constants: Python objects.
        values: how many value slots there are.
        registers: how many registers there are.
        runs: where in `code` the addresses of generated code are.
    """

    inputs: int
    code: array = field(default_factory=lambda: array("q"))
    constants: list[object] = field(default_factory=list)
    values: int = 0
    registers: int = 0
    runs: list[int] = field(default_factory=list)
    _constant_index: dict[Hashable, int] = field(default_factory=dict)
    _numbers: dict[int, Register] = field(default_factory=dict)
    _expressions: dict[tuple[str, Register, Register], Register] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        self.values = self.inputs

    def new_value(self) -> Value:
        """A fresh value slot."""
        self.values += 1
        return self.values - 1

    def new_register(self) -> Register:
        """A fresh register."""
        self.registers += 1
        return self.registers - 1

    def constant(self, constant: object) -> int:
        """The index of a constant; equal sizes, names and the like share one."""
        key = _identity(constant)
        if key not in self._constant_index:
            self._constant_index[key] = len(self.constants)
            self.constants.append(constant)
        return self._constant_index[key]

    def number(self, number: int) -> Register:
        """A register that holds `number`."""
        if number not in self._numbers:
            register = self.new_register()
            self._emit(_runtime.OP_CONSTANT, register, number)
            self._numbers[number] = register
        return self._numbers[number]

    def arithmetic(self, operator: str, lhs: Register, rhs: Register) -> Register:
        """A register that holds `lhs operator rhs`; computed once per program."""
        key = (operator, lhs, rhs)
        if key not in self._expressions:
            register = self.new_register()
            self._emit(ARITHMETIC[operator], register, lhs, rhs)
            self._expressions[key] = register
        return self._expressions[key]

    def call(
        self,
        callable_: Callable,
        items: Sequence[Item],
        keywords: Sequence[tuple[str, Item]] = (),
        *,
        discard: bool = False,
        event: object = None,
    ) -> Value:
        """Calls a Python object; the value of its result, or -1 when discarded.

        `event` describes the call to profilers; they don't see others.
        """
        destination = -1 if discard else self.new_value()
        names = self.constant(tuple(name for name, _ in keywords)) if keywords else -1
        arguments = [*items, *(item for _, item in keywords)]
        self._emit(
            _runtime.OP_CALL,
            destination,
            self.constant(callable_),
            names,
            -1 if event is None else self.constant(event),
            len(arguments),
            *self._words(arguments),
        )
        return destination

    def call_int(self, callable_: Callable, items: Sequence[Item]) -> Register:
        """Calls a Python object that returns an int; the register of the result."""
        destination = self.new_register()
        self._emit(
            _runtime.OP_CALL_INT,
            destination,
            self.constant(callable_),
            len(items),
            *self._words(items),
        )
        return destination

    def load_int(self, value: Value) -> Register:
        """The register of an input that is a Python int."""
        destination = self.new_register()
        self._emit(_runtime.OP_LOAD_INT, destination, value)
        return destination

    def load_number(self, value: Value, *, is_float: bool) -> Register:
        """The address of an input that is a Python number, as a double or an int64.

        A finite float beyond float32 fails the check.
        """
        destination, bits = self.new_register(), self.new_register()
        self._emit(_runtime.OP_LOAD_NUMBER, destination, bits, value, int(is_float))
        return destination

    def unpack(self, value: Value, used: Sequence[bool]) -> list[Value]:
        """Values of the results in a tuple; -1 for those that are not used."""
        destinations = [self.new_value() if use else -1 for use in used]
        self._emit(_runtime.OP_UNPACK, value, len(destinations), *destinations)
        return destinations

    def check_layout(
        self, value: Value, stride: Callable, repair: Callable, strides: Item
    ) -> None:
        """Has `repair(tensor, strides)` replace the tensor if its strides differ."""
        self._emit(
            _runtime.OP_LAYOUT,
            value,
            self.constant(stride),
            self.constant(repair),
            *self._words([strides]),
        )

    def aligned_pointer(
        self, value: Value, data_ptr: Callable, repair: Callable | None
    ) -> Register:
        """The address of a tensor, which kernels may take for a multiple of 16.

        Where it is none, that of `repair(tensor)`, which lives as long as the call;
        without `repair` the fallback is called.
        """
        destination = self.new_register()
        self._emit(
            _runtime.OP_ALIGNED,
            destination,
            self.new_value(),
            value,
            -1 if repair is None else self.constant(repair),
            self.constant(data_ptr),
        )
        return destination

    def workspace(self, size: Register) -> Register:
        """The address of scratch memory of as many bytes as `size` holds.

        A program has one workspace at a time: this one ends the one before.
        """
        destination = self.new_register()
        self._emit(_runtime.OP_WORKSPACE, destination, size)
        return destination

    def release(self, *, kept: bool = True) -> None:
        """Ends the use of the workspace, which may be kept for the next call."""
        self._emit(_runtime.OP_RELEASE, int(kept))

    def run(
        self,
        address: int,
        pointers: Sequence[Register],
        symbols: Sequence[Register],
        *,
        unlock: bool,
        events: tuple,
    ) -> None:
        """Calls generated code at `address`; `unlock` releases the GIL meanwhile.

        `events` describes each of its launches to profilers.
        """
        self.runs.append(len(self.code) + 1)
        self._emit(
            _runtime.OP_RUN,
            address,
            self.constant(events),
            int(unlock),
            len(pointers),
            *pointers,
            len(symbols),
            *symbols,
        )

    def launch(
        self, table: object, stream: Register, words: Sequence[Register], event: object
    ) -> None:
        """Launches the kernels of a launch table on the stream in a register.

        `event` describes the launch to profilers.
        """
        constants = self.constant(table), self.constant(event)
        self._emit(_runtime.OP_LAUNCH, *constants, stream, len(words), *words)

    def check_disjoint(
        self,
        written: Sequence[tuple[Register, Register]],
        others: Sequence[tuple[Register, Register]],
    ) -> None:
        """Calls the fallback if memory that is written overlaps any other.

        Args:
            written: pairs of registers: the address of the first byte, and how many.
            others: the same for memory that is only read.
        """
        words = [word for pair in (*written, *others) for word in pair]
        self._emit(_runtime.OP_DISJOINT, len(written), len(others), *words)

    def free(self, value: Value) -> None:
        """Drops the program's reference to a value that is no input."""
        self._emit(_runtime.OP_FREE, value)

    def return_(self, item: Item) -> None:
        """Ends the program."""
        self._emit(_runtime.OP_RETURN, *self._words([item]))

    def program(self, **details: object) -> _runtime.Program:
        """The executable program; `details` are keywords of `_runtime.Program`."""
        return _runtime.Program(
            self.code,
            tuple(self.constants),
            self.inputs,
            self.values,
            self.registers,
            **details,
        )

    def _emit(self, *words: int) -> None:
        self.code.extend(words)

    def _words(self, items: Sequence[Item]) -> list[int]:
        words: list[int] = []
        for item in items:
            match item:
                case Constant(object_):
                    words.append(_word(_runtime.ITEM_CONSTANT, self.constant(object_)))
                case ValueItem(value):
                    words.append(_word(_runtime.ITEM_VALUE, value))
                case RegisterItem(register):
                    words.append(_word(_runtime.ITEM_REGISTER, register))
                case Group(members, kind):
                    tag = _runtime.ITEM_LIST if kind is list else _runtime.ITEM_TUPLE
                    words.append(_word(tag, len(members)))
                    words.extend(self._words(members))
        return words


def _word(kind: int, index: int) -> int:
    return kind | index << _runtime.ITEM_KIND_BITS
