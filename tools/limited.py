"""Commands that end in time: a process, and all that it started, is stopped else."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: The exit code, or None where the time was up.
        output: What it printed, "" where that went to the terminal.
        seconds: How long it ran.
    """

    code: int | None
    output: str
    seconds: float

    @property
    def what(self) -> str:
        """In words: "exit code 1", "signal SIGSEGV", "no end in 60 s"."""
        if self.code is None:
            return f"no end in {self.seconds:.0f} s"
        if self.code < 0:
            return f"signal {signal.Signals(-self.code).name}"
        return f"exit code {self.code}"


def run(
    command: Sequence[str], folder: Path, seconds: float, *, is_shown: bool = False
) -> Ended:
    """Runs a command in a folder, for so many seconds at most.

    Args:
        command: The program and its arguments.
        folder: Where it runs.
        seconds: When it is killed.
        is_shown: Whether its output goes to the terminal as it comes.
    """
    start = time.monotonic()
    output = None if is_shown else subprocess.PIPE
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if is_shown else subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    code = None
    try:
        printed, _ = process.communicate(timeout=max(seconds, 0.1))
        code = process.returncode
    except subprocess.TimeoutExpired:
        _kill(process)
        printed, _ = process.communicate()
    except BaseException:
        _kill(process)
        process.wait()
        raise
    return Ended(code, printed or "", time.monotonic() - start)


def _kill(process: subprocess.Popen) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
