"""What the blocks around an operation do about an error that it raises.

A handler is followed in the exception table and in the bytecode, from its first
instruction: an ``except`` says which classes it is for, the end of a ``with`` has the
manager on the stack. What may stop the error sees it.

A ``finally`` or a manager that runs code of the program and lets the error go on is a
matter of what the segment has changed: where it has, both are taken to undo what has
not been done if the graph fails; where it hasn't, they see the error.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from girih.errors import UnsupportedError
from girih.frontend.capture.bytecode.families import actions_of
from girih.frontend.capture.data_errors import ANYTHING, Errors
from girih.frontend.capture.frame import Frame, Handler, Plan, plan_of
from girih.frontend.capture.values.base import NotConstant, Raised, Value
from girih.frontend.capture.values.builtin import NamespaceValue
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.exception_group import exception_classes
from girih.frontend.capture.values.function import FunctionValue
from girih.frontend.capture.values.iterator.generator import GeneratorValue
from girih.frontend.capture.values.module import ModuleValue

# These only move values of the frame, which the error leaves.
_MOVES = frozenset(
    ("PUSH_EXC_INFO", "POP_EXCEPT", "COPY", "SWAP", "POP_TOP", "NOP", "STORE_FAST")
    + ("DELETE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST")
)
_LOADS_OF_LOCALS = ("LOAD_CONST", "LOAD_FAST", "CACHE", "EXTENDED_ARG")
_LOADS_OF_CLASSES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_DEREF")
_STOPITERATION_ERROR = 3  # of CALL_INTRINSIC_1: other errors stay as they are


def handlers_around(plan: Plan, index: int) -> Iterator[Handler]:
    """The handlers that an exception may come to, innermost first."""
    found: list[Handler] = []
    handler = plan.handler_of(index)
    while handler is not None and handler not in found:
        yield handler
        found.append(handler)
        handler = plan.handler_of(handler.target)


@dataclass(frozen=True)
class Passing:
    """Tells handlers that let errors pass, and do nothing else, from all others.

    Attributes:
        tracer: The tracer.
        errors: The classes of the errors.
    """

    tracer: object
    errors: Errors

    def passes(self, frame: Frame, handler: Handler, has_left: bool = False) -> bool:
        """Whether a handler lets the errors pass.

        Args:
            frame: The frame that has the handler.
            handler: The handler.
            has_left: Whether the frame is past the handler's block, so that its locals
                and its stack aren't those that the handler would find.
        """
        instructions, index = frame.plan.instructions, handler.target
        loads: list[int] = []
        while True:
            ins = instructions[index]
            if ins.opname == "CHECK_EXC_MATCH":
                jump = instructions[index + 1]
                if has_left and _reads_locals(instructions, loads):
                    return False
                if not jump.opname.endswith("IF_FALSE") or self._match(frame, loads):
                    return False
                loads, index = [], frame.plan.index[jump.argval]
                continue
            if _is_load(ins.opname):
                loads.append(index)
            elif ins.opname == "RERAISE" and not _reads_objects(instructions, loads):
                return True
            elif ins.opname == "WITH_EXCEPT_START":
                return not has_left and self._is_silent(frame.stack[handler.depth - 1])
            elif not _is_move(ins) or _reads_objects(instructions, loads):
                return not has_left and self._undoes(frame.plan, index)
            index += 1

    def _undoes(self, plan: Plan, index: int) -> bool:
        return self._has_changes() and _goes_on(plan, index)

    def _has_changes(self) -> bool:
        """Whether the segment has changed what exists, other than tensors."""
        return bool(self.tracer.effects) or self.tracer.state.has_effects

    def _match(self, frame: Frame, loads: list[int]) -> bool:
        """Whether an ``except`` clause may be for one of the errors."""
        evaluated = copy.copy(frame)
        evaluated.stack = []
        actions, instructions = actions_of(frame.plan), frame.plan.instructions
        try:
            for index in loads:
                ins = instructions[index]
                if ins.opname == "LOAD_ATTR" and not _is_plain(evaluated.stack[-1]):
                    return True
                actions[index](self.tracer, evaluated, ins)
            return len(evaluated.stack) != 1 or self._is_for(evaluated.stack[0])
        except (Raised, NotConstant, UnsupportedError):
            return True  # the handler itself raises, and runs code of the program

    def _is_for(self, expected: Value) -> bool:
        classes = exception_classes(self.tracer, expected)
        mros = [error.__mro__ for error in self.errors]
        return self.errors == ANYTHING or any(
            cls in mro for cls in classes for mro in mros
        )

    def _is_silent(self, leave: Value) -> bool:
        """Whether the ``__exit__`` of a manager lets the errors pass.

        What torch's managers set, the graph sets itself, and undoes where it fails.
        """
        manager = getattr(leave, "owner", None)
        if manager is None:
            return False
        cls = manager.python_type()
        if cls is contextlib.suppress:
            excepted = self.tracer.get_attr(manager, "_exceptions")
            try:
                return not self._is_for(excepted)
            except Raised:
                return False
        if cls is contextlib._GeneratorContextManager:
            return self._is_silent_generator(self.tracer.get_attr(manager, "gen"))
        if cls.__module__.split(".")[0] == "torch" or cls is contextlib.nullcontext:
            return True
        function = getattr(leave, "function", None)
        is_known = isinstance(function, FunctionValue) and self._has_changes()
        return is_known and _returns_nothing(plan_of(function.code))

    def _is_silent_generator(self, value: Value) -> bool:
        """Whether a generator lets errors pass that are thrown into it."""
        if not isinstance(value, GeneratorValue) or value.delegate() is not None:
            return False
        frame = value.frame
        around = handlers_around(frame.plan, frame.next - 1)
        return frame.plan.is_library or all(self.passes(frame, h) for h in around)


def _is_load(name: str) -> bool:
    is_class = name in _LOADS_OF_CLASSES or name == "BUILD_TUPLE"
    return is_class or name.startswith(_LOADS_OF_LOCALS)


def _is_move(ins: dis.Instruction) -> bool:
    is_intrinsic = ins.opname == "CALL_INTRINSIC_1" and ins.arg == _STOPITERATION_ERROR
    return is_intrinsic or ins.opname in _MOVES


def _is_plain(owner: Value) -> bool:
    """Whether reading an attribute runs no code of the program."""
    return isinstance(owner, (ModuleValue, NamespaceValue, ClassValue))


def _reads_locals(instructions: list[dis.Instruction], loads: list[int]) -> bool:
    names = [instructions[index].opname for index in loads]
    return any(name.startswith(("LOAD_FAST", "LOAD_DEREF")) for name in names)


def _reads_objects(instructions: list[dis.Instruction], loads: list[int]) -> bool:
    """Whether a property may run code."""
    return any(instructions[index].opname in _LOADS_OF_CLASSES for index in loads)


def _goes_on(plan: Plan, start: int) -> bool:
    """Whether a ``finally`` ends with the error that it was entered with, always."""
    names = {plan.instructions[index].opname for index in _reached(plan, start)}
    stops = ("RETURN_", "RAISE_", "YIELD_", "CHECK_E")
    return not any(name.startswith(stops) for name in names)


def _reached(plan: Plan, start: int) -> set[int]:
    """Indices of the instructions that run from one on, if nothing raises."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        index = waiting.pop()
        ins = plan.instructions[index]
        if index in found:
            continue
        found.add(index)
        if ins.opcode in dis.hasjrel:
            waiting.append(plan.index[ins.argval])
        if not ins.opname.startswith(_NEVER_GO_ON):
            waiting.append(index + 1)
    return found


_NEVER_GO_ON = ("JUMP_FORWARD", "JUMP_BACKWARD", "RERAISE", "RAISE_", "RETURN_")


def _returns_nothing(plan: Plan) -> bool:
    """Whether a function returns None or False only, and raises nothing itself."""
    for before, ins in itertools.pairwise([None, *plan.instructions]):
        if ins.opname.startswith(("RAISE_", "YIELD_")):
            return False
        returned = ins if ins.opname == "RETURN_CONST" else before
        is_constant = returned is not None and returned.opname.endswith("_CONST")
        if ins.opname.startswith("RETURN_") and not (
            is_constant and not returned.argval
        ):
            return False
    return True
