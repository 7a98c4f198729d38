"""Runs in fresh processes, with caches that are empty or shared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def empty_caches() -> Iterator[dict[str, str]]:
    """Environment variables under which girih and Inductor start with no cache.

    Runs that get the same variables share what the first of them leaves there.
    """
    with tempfile.TemporaryDirectory(prefix="girih-bench-") as folder:
        yield {
            "GIRIH_CACHE_DIR": str(Path(folder, "girih")),
            "TORCHINDUCTOR_CACHE_DIR": str(Path(folder, "inductor")),
            "TRITON_CACHE_DIR": str(Path(folder, "triton")),
        }


def run(module: str, *arguments: str, environment: dict[str, str] | None = None):
    """Runs ``python -m module arguments`` and returns the JSON of its last line.

    Raises:
        RuntimeError: The process failed; the message holds what it wrote on stderr.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=_ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{module} {arguments} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
