"""A code object under construction: a prologue before the body of another.

What is passed beside the locals (cells, the stack) comes in further locals, after
those of the original.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from girih.frontend.capture.resume.body import body_of
from girih.frontend.capture.resume.instructions import OPS, Emitter, decode_bytes
from girih.frontend.capture.resume.layout import Layout, Slot
from girih.frontend.capture.resume.origin import Origin
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
# Stand among the constants for tables that are known when the prologue is complete.
_TO_NEW, _TO_ORIGINAL = object(), object()


class Builder(Emitter):
    """Writes a prologue.

    Attributes:
        code: The original code.
        layout: The frame that the prologue restores.
        position: Where tracebacks through the prologue point to.
        stack: Names of the extra locals that the passed slots of the stack come in.
        cells: Names of those that the cells come in.
        more: Names of those that come after them.
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
        self._body = body_of(code, self.moved)
        self._consts: list[Any] = list(code.co_consts)
        self._handlers: list[Handler] = []

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
            self.convert_offset(_TO_NEW)

    def convert_offset(self, table: object) -> None:
        """Makes an original offset (in code units) one of the new code, or back."""
        self.constant(table)
        self.emit("SWAP", 2)
        self.emit("BINARY_SUBSCR")

    def save_slot(self, slot: Slot, name: str) -> None:
        """Pops a slot of the stack into a local, as it would be passed."""
        if slot is Slot.PREVIOUS:
            self.constant(_PROBE)
            self.emit("PUSH_EXC_INFO")
            self.emit("POP_TOP")
        elif slot is Slot.OFFSET:
            self.convert_offset(_TO_ORIGINAL)
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

    def jump(self, offset: int) -> None:
        """Ends the prologue with a jump to an original instruction."""
        unreached = 1  # the NOP that finish() writes
        self.emit("JUMP_FORWARD", unreached + self._body.unit(offset // 2))

    def covered(self) -> int:
        """Begins what ``cover`` is to cover.

        CPython 3.13 looks for the handler of an exception that a Python function raises
        at the code unit before the call, so one that does nothing is covered too.
        """
        start = self.units
        self.emit("NOP")
        return start

    def cover(self, offset: int, start: int) -> None:
        """Puts what was written since ``start`` under the handler of an instruction.

        Args:
            offset: Where that instruction stands in the original, in bytes.
            start: Where what is covered begins, in code units.
        """
        handler = handler_at(handlers_of(self.code), offset // 2)
        if handler is not None:
            self._handlers.append(handler._replace(start=start, end=self.units))

    def origin(
        self, kind: str, standing: int, target: int, moment: int, calls: bool = False
    ) -> Origin:
        """What is to be known about the new code, which is complete."""
        prologue = len(decode_bytes(self.data))
        indices = self._body.indices
        places = (standing, target, moment, calls, prologue)
        return Origin(self.code, kind, *places, self.layout, indices)

    def finish(self, depth: int) -> types.CodeType:
        """The new code object.

        Args:
            depth: How much higher than in the original code the stack may be.
        """
        code = self.code
        self.emit("NOP")  # never run; its entry takes the line table back to the start
        count = len(self._names) - len(self.scratch)
        return code.replace(
            co_argcount=count,
            co_posonlyargcount=0,
            co_kwonlyargcount=0,
            co_nlocals=len(self._names),
            co_varnames=self._names,
            co_flags=code.co_flags & ~_VARIADIC,
            co_stacksize=code.co_stacksize + depth,
            co_consts=self._all_consts(),
            co_code=bytes(self.data) + self._body.data,
            co_linetable=self._line_table(),
            co_exceptiontable=self._exception_table(),
        )

    def _all_consts(self) -> tuple:
        """The constants; the tables of offsets are known now."""
        consts = []
        for value in self._consts:
            if value is _TO_NEW:
                value = self._new_offsets()
            elif value is _TO_ORIGINAL:
                value = self._original_offsets()
            consts.append(value)
        return tuple(consts)

    def _new_offsets(self) -> tuple[int, ...]:
        body, count = self._body, len(self.code.co_code) // 2
        return tuple(self.units + body.unit(unit) for unit in range(count))

    def _original_offsets(self) -> tuple[int, ...]:
        offsets: list[int] = []
        original = 0
        for unit, new in enumerate(self._new_offsets()):
            offsets += [original] * (new - len(offsets))
            original = unit
        end = self.units + len(self._body.data) // 2
        return (*offsets, *[original] * (end - len(offsets)))

    def _exception_table(self) -> bytes:
        body, distance = self._body, self.units
        own = [
            h._replace(target=body.unit(h.target) + distance) for h in self._handlers
        ]
        return encode_handlers(own + [h.moved(distance) for h in body.handlers])

    def _line_table(self) -> bytes:
        first = self.code.co_firstlineno
        back = (first, first, None, None)
        runs = [(self.units - 1, self.position), (1, back)]
        entries, _ = encode_positions(runs, first)
        return entries + self._body.positions


def _variables(code: types.CodeType) -> list[str]:
    """Names by place in the frame: locals, other cells, free variables."""
    names = code.co_varnames
    cells = [name for name in code.co_cellvars if name not in names]
    return [*names, *cells, *code.co_freevars]
