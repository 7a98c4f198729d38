"""Random programs for as long as wanted; ``make fuzz`` runs this.

Every round draws other programs. The first failure is shrunk, printed and ends the run.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).parent),
    str(Path(__file__).parent.parent / "support"),
]

from fuzzing import fuzz  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from programs import programs  # noqa: E402
from test_random_programs import run  # noqa: E402

import girih  # noqa: E402


@given(programs(), st.booleans())
def try_program(program, dynamic):
    """One program, with static or symbolic sizes."""
    run(program, dynamic)


if __name__ == "__main__":
    sys.exit(fuzz(__doc__, try_program, girih.reset))
