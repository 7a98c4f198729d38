"""Fresh interpreters for tests of imports, start-up and isolation."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path

_SECONDS = 300
_SERVER = Path(__file__).parent / "after_torch.py"
COMPILERS = ("girih.compiler.rest", "girih.plugins", "torch._dynamo")
"""What loads most of girih's compiler, and torch's, which custom operators load."""


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """Runs code in a fresh interpreter and returns what it printed.

    Args:
        code: Python source; common indentation is removed.
        arguments: Stand in ``sys.argv[1:]``.
        environment: Variables that are set beside the inherited ones.

    Raises:
        AssertionError: The process failed; the message is what it wrote on stderr.
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_after_torch(
    code: str, *arguments: str, loaded: tuple[str, ...] = (), **environment: str
) -> str:
    """Like ``run_python``, for programs that import torch before anything else.

    The interpreter is a fork of one that has imported torch, and nothing of girih: the
    import takes longer than most programs.

    Args:
        code: As for ``run_python``.
        arguments: As for ``run_python``.
        loaded: Further modules that are imported already: for programs that do not
            test imports, and set no variables that these read.
        environment: Variables of girih, or of torch's compiler where this is not
            loaded; torch has read its own already.
    """
    known = ("GIRIH_",) if loaded else ("GIRIH_", "TORCH_COMPILE_", "TORCHDYNAMO_")
    assert all(name.startswith(known) for name in environment), environment
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("out", "err")]
        task = {
            "code": textwrap.dedent(code),
            "arguments": ["-c", *arguments],
            "outputs": [str(file) for file in files],
            "folder": os.getcwd(),
        }
        status = _ended(task, environment, loaded)
        printed, errors = (file.read_text(errors="replace") for file in files)
    assert status == 0, errors
    return printed


def run_file_after_torch(
    file: Path,
    working_folder: Path | None = None,
    loaded: tuple[str, ...] = (),
    **environment: str,
) -> tuple[int, str]:
    """Runs a program of a file, as ``run_after_torch`` does.

    Args:
        file: The program.
        working_folder: Where it runs; None stands for where this process is.
        loaded: As for ``run_after_torch``.
        environment: As for ``run_after_torch``.

    Returns:
        The exit code, and what it wrote on stdout and stderr, in order.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        task = {
            "code": file.read_text(),
            "file": str(file),
            "arguments": [str(file)],
            "outputs": [str(output)] * 2,
            "folder": str(working_folder or os.getcwd()),
        }
        status = _ended(task, environment, loaded)
        return status, output.read_text(errors="replace")


def _ended(task: dict, environment: dict[str, str], loaded: tuple[str, ...]) -> int:
    """The exit code of a task."""
    server = _server(os.getpid(), loaded)
    task["environment"] = {**os.environ, **environment}
    server.stdin.write(json.dumps(task).encode() + b"\n")
    server.stdin.flush()
    if not select.select([server.stdout], [], [], _SECONDS)[0]:
        server.kill()
        _server.cache_clear()
        raise subprocess.TimeoutExpired(task["arguments"], _SECONDS)
    return int(server.stdout.readline())


@cache
def _server(process: int, loaded: tuple[str, ...]) -> subprocess.Popen:
    """The interpreter that forks; it ends with this process."""
    command = [sys.executable, str(_SERVER), *loaded]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
