"""Work in a child process, so that what ends the child is an error like any other.

MLIR and its bindings take much for granted: a pass that keeps what it erased, or IR of
another level, may end the process. So the child works, and tells its parent what it
is about to do, what it prints, and each result; the parent reports how it ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

Report = Callable[[Any], None]


@dataclass(frozen=True)
class Crash:
    """How a child ended that did not come to its end.

    Attributes:
        cause: The signal's name, or the exit code.
        doing: What the child reported last, or None.
    """

    cause: str
    doing: Any


def results_of(
    work: Callable[[Any, Report], Any], items: Sequence[Any]
) -> Iterator[Any]:
    """Yields ``work(item, report)`` for each item, or the crash that it ended in.

    Args:
        work: Its result is pickled. It calls ``report`` with what it is about to do.
        items: All go to one child; after a crash another one takes those that follow.
    """
    position = 0
    while position < len(items):
        for result in _from_child(work, items[position:]):
            yield result
            position += 1


def _from_child(work: Callable, items: Sequence[Any]) -> Iterator[Any]:
    """Yields results until all are done, or one is a crash."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _work_in_child(work, items, theirs)
    os.close(theirs)
    doing, missing = None, len(items)
    try:
        with open(ours, "rb") as channel:
            for kind, value in _messages(channel):
                if kind == "result":
                    missing -= 1
                    yield value
                elif kind == "doing":
                    doing = value
                else:
                    getattr(sys, kind).write(value)
    except BaseException:
        os.kill(child, signal.SIGKILL)  # nobody waits for its results any more
        raise
    finally:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if missing:
        yield Crash(_cause(code), doing)


def _messages(channel: BinaryIO) -> Iterator[tuple[str, Any]]:
    while True:
        try:
            yield pickle.load(channel)
        except (EOFError, pickle.UnpicklingError):  # cut off where the child ended
            return


def _cause(code: int) -> str:
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _work_in_child(work: Callable, items: Sequence[Any], descriptor: int) -> None:
    """Never returns: what the parent would do at its end must not happen twice."""
    code = 1
    try:
        with open(descriptor, "wb", buffering=0) as channel:
            sys.stdout, sys.stderr = (
                _Stream(channel, name) for name in ("stdout", "stderr")
            )
            for item in items:
                result = work(item, lambda doing: _send(channel, "doing", doing))
                _send(channel, "result", result)
        code = 0
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(code)


def _send(channel: BinaryIO, kind: str, value: Any) -> None:
    rest = memoryview(pickle.dumps((kind, value)))
    while rest:
        rest = rest[channel.write(rest) :]


class _Stream:
    """A text stream whose text the parent writes."""

    encoding = "utf-8"

    def __init__(self, channel: BinaryIO, name: str):
        self._channel, self._name = channel, name

    def write(self, text: str) -> int:
        """Sends the text."""
        _send(self._channel, self._name, text)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        """It is a pipe."""
        return False
