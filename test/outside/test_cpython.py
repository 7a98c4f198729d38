"""Methods of CPython's own tests that went wrong inside a compiled function."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.mark.skipif(
    importlib.util.find_spec("test.support") is None,
    reason="this Python came without Lib/test",
)
def test_what_was_mended():
    command = [sys.executable, FOLDER / "cpython.py", "--jobs", "2", "--listed"]
    listed = FOLDER / "cpython_short.txt"
    done = subprocess.run([*command, listed], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
