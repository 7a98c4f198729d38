"""Signal handlers of the program, which wait while the main thread compiles.

Python runs a handler between any two instructions, so also in the middle of a pass or
of tracing. What it raises there would be taken for a failure of girih or of the
traced program, tensors that it makes would be fake, and a function that it compiles
would be compiled inside of another one. So a compilation is like one call of a C
function: handlers run when it ends, at the call that it was for.

Ctrl-C's ``KeyboardInterrupt`` does not wait for that. Only where graphs are lowered it
waits for the end of the pass (``in_steps``, ``let_interrupts_in``): the bindings drop
what a callback raises in some places, and make another error of it in others.

A signal still wakes ``signal.set_wakeup_fd``, and kills where the program asked for no
handler.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]

_waiting: _Waiting | None = None


@contextmanager
def deferred() -> Iterator[None]:
    """Lets handlers wait; nests, and does nothing in other threads than the main one.

    Raises:
        BaseException: A handler that ran at the end raised it.
    """
    global _waiting
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or _waiting is not None:
        yield
        return
    waiting = _Waiting()
    try:
        _waiting = waiting
        waiting.begin()
        yield
    finally:
        _waiting = None
        waiting.end()


@contextmanager
def in_steps() -> Iterator[None]:
    """Lets Ctrl-C wait for ``let_interrupts_in``, or the end; in ``deferred``."""
    waiting = _waiting
    if waiting is None or threading.get_ident() != waiting.thread:
        yield
        return
    waiting.steps += 1
    try:
        yield
    finally:
        waiting.steps -= 1
        let_interrupts_in()


def let_interrupts_in() -> None:
    """Raises the ``KeyboardInterrupt`` of a Ctrl-C that came since the last step."""
    waiting = _waiting
    if waiting is not None and threading.get_ident() == waiting.thread:
        waiting.interrupt()


class _Waiting:
    """The handlers that wait, and the signals that came for them.

    An interrupt may end ``begin`` or ``end`` half-way: a stand-in that is left in place
    of a handler then calls it.
    """

    def __init__(self):
        self.is_over = False
        self.stand_ins: dict[int, tuple[Handler, Handler]] = {}
        self.came: dict[int, None] = {}
        self.interrupts: list[int] = []
        self.steps = 0
        self.thread = threading.get_ident()

    def interrupt(self) -> None:
        """Does what Python does at Ctrl-C, if that came."""
        if self.interrupts:
            number = self.interrupts.pop()
            self.interrupts.clear()
            signal.default_int_handler(number, None)

    def begin(self) -> None:
        """Puts stand-ins in place of the program's handlers."""
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                stand_in = self._stand_in(handler)
                self.stand_ins[number] = stand_in, handler
                _set(number, stand_in)

    def _stand_in(self, handler: Handler) -> Handler:
        is_interrupt = handler is signal.default_int_handler

        def note(number: int, frame: FrameType | None) -> None:
            if self.is_over or (is_interrupt and not self.steps):
                handler(number, frame)
            else:
                (self.interrupts.append if is_interrupt else self._note)(number)

        return note

    def _note(self, number: int) -> None:
        self.came[number] = None

    def end(self) -> None:
        """Puts the handlers back and runs those whose signals came."""
        self.is_over = True
        for number, (stand_in, handler) in self.stand_ins.items():
            if signal.getsignal(number) is stand_in:  # what is traced may set others
                _set(number, handler)
        self._deliver()

    def _deliver(self) -> None:
        """Sends the signals again: each handler runs, though one before it raises."""
        if self.came:
            number, _ = self.came.popitem()
            try:
                signal.raise_signal(number)
            finally:
                self._deliver()


def _set(number: int, handler: Handler) -> None:
    try:
        signal.signal(number, handler)
    except ValueError:  # in a subinterpreter, where handlers can't run anyway
        return


def _renew() -> None:
    """In a child process, which does not go on with the compilation."""
    global _waiting
    if _waiting is not None:
        _waiting.is_over = True
        _waiting.came.clear()
        _waiting = None


os.register_at_fork(after_in_child=_renew)
