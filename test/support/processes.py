"""Fresh interpreters for tests of imports, start-up and isolation."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


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
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
