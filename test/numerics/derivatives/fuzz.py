"""Random programs with gradients for as long as wanted; ``make fuzz-gradients``.

Every round draws other programs. The first failure is shrunk, printed and ends the run.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "support")]

from fuzzing import fuzz  # noqa: E402
from gradient_programs import gradient_programs  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from test_random_programs import run  # noqa: E402

import girih  # noqa: E402


@given(gradient_programs(), st.integers(1, 2))
def try_program(program, order):
    """One program, to first or second order."""
    run(program, order)


if __name__ == "__main__":
    sys.exit(fuzz(__doc__, try_program, girih.reset))
