"""A code object under construction: a prologue in front of the body of another.

The body stays as it is, byte for byte, but for the indices of cells and free
variables: what is passed beside the locals is passed as further locals, which stand
between the two. So an offset of the body is an original offset plus a constant.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from girih.frontend.capture.resume.instructions import (
    INDEXED,
    OPS,
    PAIRED,
    Emitter,
    Instruction,
    decode,
)
from girih.frontend.capture.resume.layout import Layout, Slot
from girih.frontend.capture.resume.stack_effect import NULL_IS_FIRST, CannotStep
from girih.frontend.capture.resume.tables import (
    Handler,
    encode_handlers,
    encode_positions,
    handler_at,
    handlers_of,
    position_at,
)

_VARIADIC = 0x04 | 0x08  # CO_VARARGS, CO_VARKEYWORDS
_OPTIMIZED = 0x01
# PUSH_EXC_INFO of this tells what is being handled, as what it saves.
_PROBE = Exception("girih: nothing was raised")


class Builder(Emitter):
    """Writes a prologue.

    Attributes:
        code: The original code.
        layout: The frame that the prologue restores.
        position: Where tracebacks through the prologue point to.
        stack: Names of the extra locals that the passed slots of the stack come in.
        cells: Names of those that the cells come in.
        more: Names of those that come behind them.
        scratch: Names of further locals that are no arguments.
    """

    def __init__(
        self,
        code: types.CodeType,
        layout: Layout,
        offset: int,
        more: Sequence[str] = (),
        scratch: int = 0,
    ):
        super().__init__()
        if not code.co_flags & _OPTIMIZED:
            raise CannotStep("the code of a class or module has no fast locals")
        self.code = code
        self.layout = layout
        self.position = position_at(code, offset)
        self.cells = [f".cell.{name}" for name in layout.cells]
        self.stack = [f".stack.{i}" for i in range(layout.passed())]
        self.more = list(more)
        self.scratch = [f".scratch.{i}" for i in range(scratch)]
        extras = [*self.cells, *self.stack, *self.more, *self.scratch]
        self._names = (*code.co_varnames, *extras)
        self._places = {name: i for i, name in enumerate(self._names)}
        self._shift = len(extras)
        self._consts: list[Any] = list(code.co_consts)
        self._handlers: list[Handler] = []
        self._distance: int | None = None

    # ---- single instructions ------------------------------------------------------

    def fast(self, action: str, name: str) -> None:
        """Loads, stores or deletes a local or extra local."""
        self.emit(f"{action}_FAST", self._places[name])

    def take(self, name: str) -> None:
        """Pushes an extra local and forgets it: nothing is held, locals() is right."""
        self.fast("LOAD", name)
        self.fast("DELETE", name)

    def constant(self, value: Any) -> None:
        """Pushes a constant."""
        known = (i for i, item in enumerate(self._consts) if item is value)
        index = next(known, len(self._consts))
        if index == len(self._consts):
            self._consts.append(value)
        self.emit("LOAD_CONST", index)

    def callable(self, push) -> None:
        """Pushes a callable, with the NULL that a call wants beside it."""
        if NULL_IS_FIRST:
            self.emit("PUSH_NULL")
        push()
        if not NULL_IS_FIRST:
            self.emit("PUSH_NULL")

    def call(self, count: int) -> None:
        """Calls what lies below ``count`` arguments."""
        if "PRECALL" in OPS:
            self.emit("PRECALL", count)
        self.emit("CALL", count)

    # ---- parts of a prologue ------------------------------------------------------

    def enter(self, is_generator: bool = False) -> None:
        """Begins: the closure, the generator, tracing."""
        if self.code.co_freevars:
            self.emit("COPY_FREE_VARS", len(self.code.co_freevars))
        if is_generator:
            self.emit("RETURN_GENERATOR")
            self.emit("POP_TOP")
        self.emit("RESUME", 0)

    def restore_variables(self) -> None:
        """The locals and cells of the frame; what is not in the layout is unbound.

        The MAKE_CELL is what ``locals()`` and ``super()`` look for; its cell is
        replaced at once.
        """
        names = self.code.co_varnames
        for name in self.code.co_cellvars:
            if name in self.layout.cells:
                place = self.place_of(name)
                self.emit("MAKE_CELL", place)
                self.take(f".cell.{name}")
                self.emit("STORE_FAST", place)
        bound = {*self.layout.locals, *self.layout.cells}
        for name in names:
            if name not in bound:
                self.fast("DELETE", name)

    def restore_stack(self, hidden: Sequence[str] = (), place: int = 0) -> None:
        """The value stack.

        Args:
            hidden: Further arguments that are put on the stack, among its slots.
            place: How many slots lie below them.
        """
        passed = iter(self.stack)
        for index, slot in enumerate((*self.layout.stack, None)):
            if index == place:
                for name in hidden:
                    self.take(name)
            if slot is not None:
                self._restore_slot(slot, passed)

    def _restore_slot(self, slot: Slot, passed) -> None:
        if slot is Slot.NULL:
            self.emit("PUSH_NULL")
            return
        self.take(next(passed))
        if slot is Slot.PREVIOUS:
            self.emit("PUSH_EXC_INFO")
            self.emit("POP_TOP")
        elif slot is Slot.OFFSET:
            self.convert_offset("+")

    def convert_offset(self, operator: str) -> None:
        """Makes an original offset (in code units) one of the new code, or back."""
        if self._distance is None:
            self._distance = len(self._consts)
            self._consts.append(self)  # replaced when the prologue is complete
        self.emit("LOAD_CONST", self._distance)
        self.emit("BINARY_OP", {"+": 0, "-": 10}[operator])

    def save_slot(self, slot: Slot, name: str) -> None:
        """Pops a slot of the stack into a local, as it would be passed."""
        if slot is Slot.PREVIOUS:
            self.constant(_PROBE)
            self.emit("PUSH_EXC_INFO")
            self.emit("POP_TOP")
        elif slot is Slot.OFFSET:
            self.convert_offset("-")
        self.fast("STORE", name)
        if slot is Slot.PREVIOUS:
            self.emit("POP_EXCEPT")

    def place_of(self, name: str) -> int:
        """Where a local, cell or free variable lies in the new frame."""
        return self.moved(_variables(self.code).index(name))

    def moved(self, place: int) -> int:
        """Where what lies at ``place`` in the original frame lies in the new one."""
        return place if place < len(self.code.co_varnames) else place + self._shift

    # ---- completion ---------------------------------------------------------------

    def cover(self, offset: int, start: int) -> None:
        """Puts what was written since ``start`` under the handler of an instruction.

        Args:
            offset: Where that instruction stands in the original, in bytes.
            start: Where what is covered begins, in code units.
        """
        handler = handler_at(handlers_of(self.code), offset // 2)
        if handler is not None:
            self._handlers.append(handler._replace(start=start, end=self.units))

    def finish(self, depth: int) -> types.CodeType:
        """The new code object.

        Args:
            depth: How much higher than in the original code the stack may be.
        """
        code = self.code
        self.emit("NOP")  # never run; its entry takes the line table back to the start
        count = len(self._names) - len(self.scratch)
        if self._distance is not None:
            self._consts[self._distance] = self.units
        return code.replace(
            co_argcount=count,
            co_posonlyargcount=0,
            co_kwonlyargcount=0,
            co_nlocals=len(self._names),
            co_varnames=self._names,
            co_flags=code.co_flags & ~_VARIADIC,
            co_stacksize=code.co_stacksize + depth,
            co_consts=tuple(self._consts),
            co_code=bytes(self.data) + self._body(),
            co_linetable=self._line_table(),
            co_exceptiontable=self._exception_table(),
        )

    def _exception_table(self) -> bytes:
        own = [
            entry._replace(target=entry.target + self.units) for entry in self._handlers
        ]
        return encode_handlers(
            own + [h.moved(self.units) for h in handlers_of(self.code)]
        )

    def _line_table(self) -> bytes:
        first = self.code.co_firstlineno
        back = (first, first, None, None)
        runs = [(self.units - 1, self.position), (1, back)]
        entries, _ = encode_positions(runs, first)
        return entries + self.code.co_linetable

    def _body(self) -> bytes:
        data = bytearray(self.code.co_code)
        if self._shift:
            for instruction in decode(self.code):
                self._move(data, instruction)
        return bytes(data)

    def _move(self, data: bytearray, instruction: Instruction) -> None:
        """Corrects the place of a cell or free variable in an instruction."""
        op, arg, offset, _ = instruction
        if op in INDEXED:
            place = self.moved(arg)
        elif op in PAIRED:
            first, second = self.moved(arg >> 4), self.moved(arg & 15)
            place = first << 4 | second if second < 16 else 256
        else:
            return
        while place != arg:
            if not arg >> 8 and place >> 8:
                raise CannotStep("the frame has too many variables")
            data[offset + 1] = place & 255
            place, arg, offset = place >> 8, arg >> 8, offset - 2


def _variables(code: types.CodeType) -> list[str]:
    """Names by place in the frame: locals, other cells, free variables."""
    names = code.co_varnames
    cells = [name for name in code.co_cellvars if name not in names]
    return [*names, *cells, *code.co_freevars]
