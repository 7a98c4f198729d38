"""The blocks of a program that an error of a graph leaves, and those that catch it.

What an operation says about its data is known only when the graph runs. A graph that
may run again (``repeatable.py``) leaves it to Python to raise that in its place. Any
other one is a single instruction that raises, where the segment began
(``run_time_errors.py``): blocks that were open there are left, by Python; what is only
entered and left in the segment has not been entered.

That is right unless the operation stands behind the end of such a block, or inside of
an ``except`` that the segment entered. There, the graph is broken.
"""

from __future__ import annotations

import builtins
import dis
import itertools
import types
from collections.abc import Iterator

import torch

from girih.errors import unsupported
from girih.frontend.capture.frame import Frame, Handler, Plan, plan_of
from girih.frontend.capture.repeatable import is_repeatable, may_fail
from girih.frontend.capture.resume.origin import (
    Origin,
    origin_of,
    original_position,
)
from girih.frontend.capture.values.function import BoundMethod

# What operations raise because of their data.
_ERRORS = (RuntimeError, IndexError, ZeroDivisionError)


class Blocks:
    """The blocks in which a segment begins, and what may fail in others.

    Args:
        function: The function that is captured.
        arguments: Its arguments.
        may_break: Whether the graph may be broken.

    Attributes:
        strays: Whether something may fail that other blocks see.
        place: Where something may fail, first: in which of the frames that go on, and
            the index of the instruction; or None.
    """

    def __init__(self, function, arguments: tuple, may_break: bool):
        self._may_break = may_break
        self._begun: list[tuple[types.CodeType, Handler | None]] = []
        self._is_leaving = False
        self.strays = False
        self.place: tuple[int, int] | None = None
        while is_resumed(function):
            origin = origin_of(function.__code__)
            self._enter(function.__code__, origin)
            if not origin.calls:
                break
            function, arguments = arguments[-2:]

    def _enter(self, code: types.CodeType, origin: Origin) -> None:
        plan = plan_of(code)
        index = origin.moment
        if not origin.calls:
            prologue = plan.instructions[index : origin.prologue]
            jump = next(ins for ins in prologue if ins.opname == "JUMP_FORWARD")
            index = plan.index[jump.argval]
            self._is_leaving = _is_left_at(plan, origin, index)
        self._begun.append((code, next(_handlers_around(plan, index), None)))

    def __bool__(self) -> bool:
        return self._is_leaving or any(handler for _, handler in self._begun)

    def note(self, graph, node: torch.fx.Node, frames: list[Frame]) -> None:
        """Notes an operation.

        Args:
            graph: The ``Graph`` that it was added to.
            node: The operation.
            frames: The frames, outermost first.

        Raises:
            UnsupportedError: An error of the graph could not be raised in its place.
        """
        if self._may_break and not self.strays and may_fail(node):
            self.strays = self._is_leaving or self._is_elsewhere(frames)
            self._note_place(frames)
        if self.strays and not is_repeatable(graph):
            unsupported(
                kind="an error that another block would see",
                context=str(node),
                explanation="The graph changes what exists, so it can't run again, and "
                "an operation may raise in other `with` or `try` blocks than those "
                "in which the graph began.",
                hints=("Write and read by index on the same side of the `try`.",),
            )

    def _note_place(self, frames: list[Frame]) -> None:
        if self.place is not None or not self:
            return
        pairs = zip(frames, self._begun, strict=False)
        going_on = itertools.takewhile(lambda pair: pair[0].code is pair[1][0], pairs)
        *outer, (frame, _) = going_on
        index = original_position(frame.code, frame.next - 1)[1]
        self.place = len(outer), index

    def _is_elsewhere(self, frames: list[Frame]) -> bool:
        """Whether a block was left in which the segment began, or a new one catches.

        What was entered in the segment and only exits has not been entered if the graph
        fails.
        """
        for depth, (code, handler) in enumerate(self._begun):
            if handler is None:
                continue
            if depth >= len(frames) or frames[depth].code is not code:
                return True
            around = _handlers_around(frames[depth].plan, frames[depth].next - 1)
            is_left = handler.target not in [h.target for h in around]
            if is_left or any(map(_is_new, frames[depth].stack[: handler.depth])):
                return True
        begun = itertools.chain((h for _, h in self._begun), itertools.repeat(None))
        return any(map(_catches, frames, begun))


def _handlers_around(plan: Plan, index: int) -> Iterator[Handler]:
    """The handlers that an exception may come to, innermost first."""
    found: list[Handler] = []
    handler = plan.handler_of(index)
    while handler is not None and handler not in found:
        yield handler
        found.append(handler)
        handler = plan.handler_of(handler.target)


def _catches(frame: Frame, begun: Handler | None) -> bool:
    """Whether a frame catches errors of operations, by an ``except`` that it entered.

    Args:
        frame: The frame.
        begun: The handler in which it stood where the segment began.
    """
    if frame.plan.is_library:
        return False
    around = _handlers_around(frame.plan, frame.next - 1)
    if begun is not None:
        around = itertools.takewhile(lambda h: h.target != begun.target, around)
    return any(_may_match(frame, handler.target + 1) for handler in around)


def _may_match(frame: Frame, index: int) -> bool:
    """Whether an ``except`` clause, or one behind it, is for errors of operations."""
    instructions = frame.plan.instructions
    if instructions[index].opname == "POP_TOP":  # an `except` without a class
        return True
    loads = instructions[index:]
    loads = list(itertools.takewhile(lambda ins: _is_load(ins.opname), loads))
    index += len(loads)
    if not loads or instructions[index].opname != "CHECK_EXC_MATCH":
        return False
    if len(loads) > 1 or _is_error(frame, loads[0]):
        return True
    jump = instructions[index + 1]
    return _may_match(frame, frame.plan.index[jump.argval])


def _is_load(name: str) -> bool:
    return name.startswith("LOAD_") or name in ("BUILD_TUPLE", "CACHE", "EXTENDED_ARG")


def _is_error(frame: Frame, load: dis.Instruction) -> bool:
    """Whether what is loaded may be a class of the errors that operations raise."""
    cls = frame.namespace.get(load.argval, getattr(builtins, str(load.argval), None))
    if load.opname != "LOAD_GLOBAL" or not isinstance(cls, type):
        return True
    return any(issubclass(e, cls) or issubclass(cls, e) for e in _ERRORS)


def is_resumed(function) -> bool:
    """Whether a function goes on in the middle of another one."""
    origin = origin_of(getattr(function, "__code__", None))
    return origin is not None and origin.kind == "resume"


def _is_left_at(plan: Plan, origin: Origin, index: int) -> bool:
    """Whether a frame goes on right behind a block, whose exit is still to run."""
    if index <= origin.prologue:
        return False
    handler = plan.handler_of(index - 1)
    return handler is not None and handler != plan.handler_of(index)


def _is_new(value) -> bool:
    """Whether a block's manager was entered in this segment."""
    return isinstance(value, BoundMethod) and value.source is None
