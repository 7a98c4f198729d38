"""The blocks of a program that an error of a graph leaves, and those that catch it.

What an operation says about its data is known only when the graph runs. A graph that
may run again (``repeatable.py``) leaves it to Python to raise that in its place. Any
other one is a single instruction that raises, where the segment began
(``run_time_errors.py``): blocks that were open there are left, by Python; what is only
entered and left in the segment has not been entered.

That is right unless a block that was left, or one that the segment entered, would see
the error: an ``except`` that is for its class, a ``finally`` or a manager that runs
code of the program. Which errors an operation raises says ``data_errors.py``, which of
them a block lets pass says ``handlers.py``. Where one sees it, the graph is broken;
with ``fullgraph`` that is an error.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Iterator

import torch

from girih.errors import unsupported
from girih.frontend.capture.data_errors import errors_of
from girih.frontend.capture.frame import Frame, Handler, Plan, plan_of
from girih.frontend.capture.handlers import Passing, handlers_around
from girih.frontend.capture.repeatable import is_repeatable
from girih.frontend.capture.resume.origin import (
    Origin,
    origin_of,
    original_position,
)
from girih.frontend.capture.values.function import BoundMethod


class Blocks:
    """The blocks in which a segment begins, and what may fail in others.

    Args:
        function: The function that is captured.
        arguments: Its arguments.
        may_break: Whether the graph may be broken.

    Attributes:
        may_break: The same.
        stray: An operation that may fail, and whose error other blocks see, or None.
        place: Where something may fail, first: in which of the frames that go on, and
            the index of the instruction; or None.
    """

    def __init__(self, function, arguments: tuple, may_break: bool):
        self.may_break = may_break
        self._begun: list[tuple[types.CodeType, Handler | None]] = []
        self._is_leaving = False
        self.stray: torch.fx.Node | None = None
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
        self._begun.append((code, next(handlers_around(plan, index), None)))

    def __bool__(self) -> bool:
        return self._is_leaving or any(handler for _, handler in self._begun)

    def note(self, tracer, node: torch.fx.Node) -> None:
        """Notes an operation.

        Args:
            tracer: The tracer, whose graph it was added to.
            node: The operation.

        Raises:
            UnsupportedError: An error of the graph could not be raised in its place.
        """
        errors = () if self.stray is not None else errors_of(node)
        if errors:
            if self._is_elsewhere(Passing(tracer, errors), tracer.frames):
                self.stray = node
            if self.may_break:
                self._note_place(tracer.frames)
        if self.stray is not None and not is_repeatable(tracer.graph):
            self._refuse(node)

    def _refuse(self, node: torch.fx.Node) -> None:
        changes = f"{node} writes a tensor that existed before the graph"
        if self.stray is node:
            changes = "the graph writes a tensor that existed before it"
        way_out = "Write, and draw random numbers, on the other side of the `try`."
        if not self.may_break:
            way_out += " Without fullgraph=True the graph breaks here."
        unsupported(
            kind="error of a graph inside a `try` or `with` block",
            context=str(node),
            explanation=f"{self.stray} may raise an error that depends on data, and "
            "the block would handle it. girih can't run the call again in Python, "
            f"because {changes}.",
            hints=(way_out,),
        )

    def _note_place(self, frames: list[Frame]) -> None:
        if self.place is not None or not self:
            return
        pairs = zip(frames, self._begun, strict=False)
        going_on = itertools.takewhile(lambda pair: pair[0].code is pair[1][0], pairs)
        *outer, (frame, _) = going_on
        index = original_position(frame.code, frame.next - 1)[1]
        self.place = len(outer), index

    def _is_elsewhere(self, passing: Passing, frames: list[Frame]) -> bool:
        """Whether a block was left that sees the errors, or a new one sees them."""
        for depth, (code, handler) in enumerate(self._begun):
            if handler is None:
                continue
            if depth >= len(frames) or frames[depth].code is not code:
                return True
            if self._has_left(passing, frames[depth], handler):
                return True
        begun = [h for _, h in self._begun] + [None] * len(frames)
        sees = any(map(functools.partial(_sees, passing), frames, begun))
        # What is being handled becomes the context of the error.
        handled = passing.tracer.handled_exception() if self.may_break else None
        is_new = handled is not None and handled.source is None
        return self._is_leaving or sees or is_new

    def _has_left(self, passing: Passing, frame: Frame, handler: Handler) -> bool:
        """Whether a frame has left a block that sees the errors.

        Args:
            passing: Tells which blocks see them.
            frame: The frame.
            handler: The innermost handler in which it stood where the segment began.
        """
        around = [h.target for h in handlers_around(frame.plan, frame.next - 1)]
        for each in (handler, *handlers_around(frame.plan, handler.target)):
            is_left = each.target not in around
            is_left = is_left or any(map(_is_new, frame.stack[: each.depth]))
            if is_left and not passing.passes(frame, each, has_left=True):
                return True
        return False


def _sees(passing: Passing, frame: Frame, begun: Handler | None) -> bool:
    """Whether a block that a frame entered sees the errors.

    Args:
        passing: Tells which blocks see them.
        frame: The frame.
        begun: The handler in which it stood where the segment began.
    """
    if frame.plan.is_library:
        return False
    return any(not passing.passes(frame, h) for h in _entered(frame, begun))


def _entered(frame: Frame, begun: Handler | None) -> Iterator[Handler]:
    """The handlers of the blocks that a frame entered since the segment began."""
    around = handlers_around(frame.plan, frame.next - 1)
    if begun is None:
        return around
    return itertools.takewhile(lambda h: h.target != begun.target, around)


def is_resumed(function) -> bool:
    """Whether a function goes on in the middle of another one."""
    origin = origin_of(getattr(function, "__code__", None))
    return origin is not None and origin.kind == "resume"


def _is_left_at(plan: Plan, origin: Origin, index: int) -> bool:
    """Whether a frame goes on right after a block, whose exit is still to run."""
    if index <= origin.prologue:
        return False
    handler = plan.handler_of(index - 1)
    return handler is not None and handler != plan.handler_of(index)


def _is_new(value) -> bool:
    """Whether a block's manager was entered in this segment."""
    return isinstance(value, BoundMethod) and value.source is None
