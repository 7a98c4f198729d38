"""Signal handlers of the program, which wait while the main thread compiles.

Python runs a handler between any two instructions, so also in the middle of a pass or
of tracing. What it raises there would be taken for a failure of girih or of the
traced program, tensors that it makes would be fake, and a function that it compiles
would be compiled inside of another one. So a compilation is like one call of a C
function: handlers run when it ends, at the call that it was for.

``KeyboardInterrupt`` does not wait: what Python itself does at Ctrl-C is not replaced.
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


class _Waiting:
    """The handlers that wait, and the signals that came for them.

    An interrupt may end ``begin`` or ``end`` half-way: a stand-in that is left in place
    of a handler then calls it.
    """

    def __init__(self):
        self.is_over = False
        self.stand_ins: dict[int, tuple[Handler, Handler]] = {}
        self.came: dict[int, None] = {}

    def begin(self) -> None:
        """Puts stand-ins in place of the program's handlers."""
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler) and handler is not signal.default_int_handler:
                stand_in = self._stand_in(handler)
                self.stand_ins[number] = stand_in, handler
                _set(number, stand_in)

    def _stand_in(self, handler: Handler) -> Handler:
        def note(number: int, frame: FrameType | None) -> None:
            if self.is_over:
                handler(number, frame)
            else:
                self.came[number] = None

        return note

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
