"""The state of a frame that is being interpreted.

All that CPython keeps in a frame is explicit here: instruction pointer, value stack,
locals, cells, the keyword names of the next call. What is on the block stack of older
versions is in the code's exception table.
"""

from __future__ import annotations

import dis
import os
import types
from collections.abc import Callable
from dataclasses import dataclass

import torch

from girih.frontend.capture.generated import users_place
from girih.frontend.capture.resume.identity import per_code
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.function import CellValue

_TORCH = os.path.dirname(torch.__file__) + os.sep


@dataclass(frozen=True)
class Handler:
    """An entry of the exception table.

    Attributes:
        start: Index of the first instruction that it covers.
        end: Index of the first one after them.
        target: Index of the handler's first instruction.
        depth: Height of the stack to unwind to.
        push_offset: Whether the offset of the raising instruction is pushed.
    """

    start: int
    end: int
    target: int
    depth: int
    push_offset: bool


class Plan:
    """A code object, decoded; it does not hold that alive.

    Attributes:
        instructions: Its instructions.
        index: From byte offset to index of the instruction.
        handlers: The exception table.
        is_library: Whether the code is torch's own, not the user's.
    """

    def __init__(self, code: types.CodeType):
        self.instructions = list(dis.get_instructions(code))
        self.index = {ins.offset: i for i, ins in enumerate(self.instructions)}
        self.handlers = [self._handler(entry) for entry in _exception_table(code)]
        self.is_library = code.co_filename.startswith(_TORCH)
        self.actions: list | None = None

    def _handler(self, entry: tuple) -> Handler:
        start, end, target, depth, push_offset = entry
        return Handler(
            self._index_from(start),
            self._index_from(end),
            self.index[target],
            depth,
            push_offset,
        )

    def _index_from(self, offset: int) -> int:
        """Index of the first instruction at or after an offset (caches have none)."""
        last = self.instructions[-1].offset
        while offset <= last:
            if offset in self.index:
                return self.index[offset]
            offset += 2
        return len(self.instructions)

    def handler_of(self, index: int) -> Handler | None:
        """The innermost handler that covers an instruction."""
        for handler in self.handlers:
            if handler.start <= index < handler.end:
                return handler
        return None


def _exception_table(code: types.CodeType):
    """Decodes ``co_exceptiontable``.

    Source: https://github.com/python/cpython/blob/3.12/Objects/exception_handling_notes.txt
    """
    table = iter(code.co_exceptiontable)

    def varint() -> int:
        byte = next(table)
        value = byte & 63
        while byte & 64:
            byte = next(table)
            value = value << 6 | byte & 63
        return value

    try:
        while True:
            start, length, target = varint() * 2, varint() * 2, varint() * 2
            depth = varint()
            yield start, start + length, target, depth >> 1, bool(depth & 1)
    except StopIteration:
        return


@per_code
def plan_of(code: types.CodeType) -> Plan:
    """The decoded code object."""
    return Plan(code)


class OffsetValue(Constant):
    """The offset that an entry of the exception table pushes, for tracebacks.

    Attributes:
        offset: In bytes, in the code of the frame.
    """

    def __init__(self, offset: int):
        super().__init__(offset // 2)
        self.offset = offset


class Frame:
    """A frame that is being interpreted.

    Attributes:
        code: The code object.
        plan: The decoded code.
        function: The function, a traced value.
        namespace: The globals.
        locals: Values of the fast locals.
        cells: The cells, by name.
        stack: The value stack.
        next: Index of the next instruction.
        keyword_names: Set by KW_NAMES for the next call.
        handled: The exceptions that are being handled, innermost last.
        begun: Which instruction of the trace is being run, see ``BreakPoint``.
        is_direct: Whether the parent's instruction pushes what this frame returns.
        node_count: How many nodes the graph had when the frame was entered.
        whole: Runs instead of all instructions, where a model stands for them. The
            graph can't break in such a frame.
    """

    def __init__(self, function, local_values: dict[str, Value]):
        self.function = function
        self.code: types.CodeType = function.code
        self.plan = plan_of(self.code)
        self.namespace: dict = function.namespace
        self.locals: dict[str, Value] = local_values
        self.cells: dict[str, CellValue] = {}
        self.stack: list[Value] = []
        self.next = 0
        self.keyword_names: tuple[str, ...] = ()
        self.handled: list[Value] = []
        self.begun = 0
        self.is_direct = False
        self.node_count = 0
        self.whole: Callable | None = None

    def push(self, value: Value) -> None:
        """Pushes a value."""
        self.stack.append(value)

    def pop(self) -> Value:
        """Pops a value."""
        return self.stack.pop()

    def pop_many(self, count: int) -> list[Value]:
        """Pops ``count`` values, in the order in which they were pushed."""
        if count == 0:
            return []
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def jump(self, offset: int) -> None:
        """Goes on at a byte offset."""
        self.next = self.plan.index[offset]

    def instruction(self):
        """The instruction that is being run."""
        return self.plan.instructions[max(self.next - 1, 0)]

    def location(self) -> tuple[str, int, str]:
        """File, line and function of the instruction that is being run."""
        positions = self.instruction().positions
        line = positions.lineno if positions else None
        code = self.code
        line = line or code.co_firstlineno
        return users_place(code.co_filename, line, code.co_qualname)
