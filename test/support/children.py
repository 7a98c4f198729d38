"""Work in forked children, so that a crash or a hang is a result like any other."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import Any

LAST_LINES = 12
FATAL = "Fatal Python error"
_FORK = multiprocessing.get_context("fork")


@dataclass
class Outcome:
    """How a child fared.

    Attributes:
        messages: All that it sent, in order.
        ended: "" where it came to its end; else what ended it.
        output: Where it died, or the last lines that it wrote on stderr.
        seconds: How long it ran.
    """

    messages: list[Any] = field(default_factory=list)
    ended: str = ""
    output: str = ""
    seconds: float = 0.0


class _Child:
    """A running child. Its stderr goes to a file, for what a dying process writes."""

    def __init__(self, work: Callable, task: Any):
        self.task, self.outcome = task, Outcome()
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.receiver, sender = _FORK.Pipe(duplex=False)
        self.process = _FORK.Process(target=self._run, args=(work, sender))
        self.started = self.heard = time.monotonic()
        self.process.start()
        sender.close()

    def _run(self, work: Callable, sender: connection.Connection) -> None:
        os.setpgid(0, 0)
        os.dup2(self.errors.fileno(), 2)
        faulthandler.enable()
        work(self.task, sender.send)
        sender.close()

    def listen(self) -> bool:
        """Takes a message; returns whether there may be more."""
        try:
            self.outcome.messages.append(self.receiver.recv())
        except EOFError:
            return False
        self.heard = time.monotonic()
        return True

    def end(self, why: str = "") -> Outcome:
        """Waits for its end, or kills it with all that it started."""
        if why:
            with suppress(ProcessLookupError):  # it has ended just now
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()
        self.outcome.ended = why or _ending(self.process.exitcode)
        self.outcome.seconds = time.monotonic() - self.started
        self.errors.seek(0)
        self.outcome.output = _most_telling(self.errors.readlines())
        self.errors.close()
        self.receiver.close()
        return self.outcome


def _most_telling(lines: list[str]) -> str:
    """The innermost frames of a process that died; else the last lines."""
    for number, line in enumerate(lines):
        if FATAL in line:
            return "".join(lines[max(number - 2, 0) :][:LAST_LINES])
    return "".join(lines[-LAST_LINES:])


def _ending(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}" if code else ""


def in_children(
    tasks: Iterable[Any],
    work: Callable[[Any, Callable[[Any], None]], None],
    jobs: int = 1,
    limit: float = 300.0,
) -> Iterator[tuple[Any, Outcome]]:
    """Does each task in a child of its own; gives them as they end.

    This process must not have started threads before.

    Args:
        tasks: Taken when there is a place.
        work: Called in the child with a task and with what sends a message from it.
        jobs: Children at a time.
        limit: Seconds that a child may go on without a message before it is killed.
    """
    waiting, running = iter(tasks), {}
    try:
        while _fill(running, waiting, work, jobs):
            yield from _ended(running, limit)
    finally:
        for child in running.values():
            child.end("stopped")


def _fill(running: dict, waiting: Iterator, work: Callable, jobs: int) -> bool:
    """Starts children where there is a place; returns whether any runs."""
    while len(running) < jobs:
        try:
            task = next(waiting)
        except StopIteration:
            break
        child = _Child(work, task)
        running[child.receiver] = child
    return bool(running)


def _ended(running: dict, limit: float) -> Iterator[tuple[Any, Outcome]]:
    """Listens once to all children; gives those that came to an end."""
    for receiver in connection.wait(list(running), timeout=0.5):
        if not running[receiver].listen():
            child = running.pop(receiver)
            yield child.task, child.end()
    now = time.monotonic()
    for receiver in [r for r, child in running.items() if now - child.heard > limit]:
        child = running.pop(receiver)
        yield child.task, child.end(f"no end within {limit:.0f} s")
