"""Random programs for as long as wanted.

    python test/frontend/capture/differential/fuzz.py --seconds 600

Each round draws other programs. The first failure is shrunk, printed and ends the run.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).parent.parent),
    str(Path(__file__).parents[3] / "support"),
]

from fuzzing import fuzz  # noqa: E402
from hypothesis import given, note  # noqa: E402

import girih  # noqa: E402
from differential import session  # noqa: E402
from differential.random_programs import programs  # noqa: E402


@given(programs())
def try_program(drawn):
    """One program, and calls of it with varied arguments."""
    source, program = drawn
    note(source)
    note(repr(program.calls))
    session.check(program)
    session.check_varied(program)


if __name__ == "__main__":
    logging.getLogger("girih").setLevel(logging.ERROR)
    sys.exit(fuzz(__doc__, try_program, girih.reset))
