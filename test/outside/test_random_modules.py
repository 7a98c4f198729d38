"""A few programs of ``make fuzz-programs``, always the same ones.

Number 1050 has slices with steps, which few of its neighbours have: with a wrong stride
planted, it is the one that fails.
"""

import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).parent / "random_modules"


@pytest.mark.parametrize(("seed", "count"), [(1046, 8), (1_000_000, 12)])
def test_random_modules_are_eagers(seed, count):
    # The runner forks, so it has a process of its own.
    command = [sys.executable, str(RUNNER), "--seed", str(seed), "--count", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} programs" in done.stdout
