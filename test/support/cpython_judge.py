"""One method of CPython's own tests, in a compiled function: is Python's meaning kept?

Each attempt is a process of its own with a limit of time and memory. A method that
passes by itself is called by a function that is compiled as one graph; where capture
refuses that with a reason, it is compiled again with graph breaks, and has to pass.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from dataclasses import dataclass

import torch

import girih
from girih.errors import UnsupportedError
from girih.frontend.capture.capture import RAISES

WHOLE, BROKEN = "whole", "broken"
"""Right: traced to its end, and refused with a reason but right with breaks."""

RIGHT = (WHOLE, BROKEN)
FAILURES = ("wrong", "raises", "bug", "crash", "slow")
"""The result differs, tracing alone raises, an internal error, died, out of time."""

_MEMORY = 6 << 30  # bytes of addresses, more than torch takes by itself
_BUG = "girih bug"
_TIMES = 40  # TestPStdev.test_compare_to_variance of CPython 3.11 fails one in six


@dataclass(frozen=True)
class Verdict:
    """How a method fared.

    Attributes:
        name: The method.
        verdict: One of ``RIGHT`` or ``FAILURES``, or "" where it fails by itself.
        detail: Why it was refused, or what went wrong.
        seconds: What the attempts took.
    """

    name: str
    verdict: str
    detail: str = ""
    seconds: float = 0.0


def judge(test: unittest.TestCase, seconds: float) -> Verdict:
    """Runs a method by itself, then compiled."""
    start = time.monotonic()
    if _attempt(test, None, seconds)[0] != "pass":
        return Verdict(test.id(), "")
    seconds += 2 * (time.monotonic() - start)  # of which some take most by themselves
    verdict, detail = _judge_compiled(test, seconds)
    if verdict == "wrong" and not _always_passes(test, seconds):
        return Verdict(test.id(), "")
    return Verdict(test.id(), verdict, detail, round(time.monotonic() - start, 2))


def _always_passes(test: unittest.TestCase, seconds: float) -> bool:
    """Whether a method passes by itself each time; some draw their data, unseeded."""
    attempts = (_attempt(test, None, seconds)[0] for _ in range(_TIMES))
    return all(outcome == "pass" for outcome in attempts)


def _judge_compiled(test: unittest.TestCase, seconds: float) -> tuple[str, str]:
    outcome, detail = _attempt(test, True, seconds)
    if outcome == "pass":
        return WHOLE, ""
    if outcome != "refused":
        return outcome, detail
    outcome, difference = _attempt(test, False, seconds)
    if outcome == "pass":
        return BROKEN, detail
    return ("wrong" if outcome == "refused" else outcome), f"{difference} [{detail}]"


def _attempt(test, fullgraph: bool | None, seconds: float) -> tuple[str, str]:
    """Runs a method in a process of its own; the outcome, and what is said of it."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        _run_child(test, fullgraph, seconds, writer)
    os.close(writer)
    try:
        # Busy machines: the limit is one of the processor's time.
        written = _read(reader, 4 * seconds + 5)
    finally:
        os.close(reader)
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    if written:
        return tuple(json.loads(written))
    return _death(status)


def _death(status: int) -> tuple[str, str]:
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number in (signal.SIGXCPU, signal.SIGKILL):
        return "slow", "killed at the limit of time"
    name = signal.Signals(number).name if number else f"exit code {status >> 8}"
    return "crash", name


def _read(reader: int, seconds: float) -> bytes:
    data, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if not select.select([reader], [], [], left)[0]:
            break
        part = os.read(reader, 1 << 16)
        if not part:
            break
        data += part
    return data


def _run_child(test, fullgraph: bool | None, seconds: float, writer: int):
    os.setpgid(0, 0)
    limit = int(seconds + time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    sys.setrecursionlimit(1000)
    os.chdir(tempfile.mkdtemp(dir="."))  # the attempt before may have left files
    try:
        outcome = _outcome(test, fullgraph)
    except BaseException as error:
        outcome = ("wrong", f"{type(error).__name__}: {error}"[:300])
    _leave(test)
    # The method may have exchanged what `os` and `json` hold.
    os.write(writer, json.dumps(outcome).encode())
    os._exit(0)


def _leave(test) -> None:
    """What the method set up would be in the way of the next attempt."""
    for leave in (test.tearDown, test.doCleanups, type(test).tearDownClass):
        with contextlib.suppress(BaseException):
            leave()


def _outcome(test, fullgraph: bool | None) -> tuple[str, str]:
    try:
        type(test).setUpClass()
        test.setUp()
        method = getattr(test, test._testMethodName)
        if fullgraph is None:
            method()
        else:
            _run_compiled(method, fullgraph)
    except UnsupportedError as error:
        return _refusal(error)
    except unittest.SkipTest as error:
        return "wrong", f"skipped: {error}"
    return "pass", ""


def _run_compiled(method: Callable, fullgraph: bool) -> None:
    def whole(x, method):
        method()
        return x + 1

    compiled = girih.compile(whole, fullgraph=fullgraph, backend=_run_graph)
    result = compiled(torch.ones(2), method)
    assert result[0] == 2, "the graph was not run"


def _run_graph(gm, example_inputs):
    return gm.forward


def _refusal(error: UnsupportedError) -> tuple[str, str]:
    text = error.summary()[:300]
    if error.kind == RAISES:  # the method passes by itself
        return "raises", text
    return ("bug" if _BUG in text else "refused"), text
