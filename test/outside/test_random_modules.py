"""A few programs of ``make fuzz-programs``, always the same ones.

Number 1050 has slices with steps, which few of its neighbours have: with a wrong stride
planted, it is the one that fails.
"""

import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).parent / "random_modules"


@pytest.mark.parametrize("seed", [1040, 1_000_000])
def test_random_modules_are_eagers(seed):
    # The runner forks, so it has a process of its own.
    command = [sys.executable, str(RUNNER), "--seed", str(seed), "--count", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 programs" in done.stdout
