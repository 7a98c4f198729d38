"""Random programs for as long as wanted; ``make fuzz`` runs this.

Every round draws other programs. The first failure is shrunk, printed and ends the run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).parent),
    str(Path(__file__).parent.parent / "support"),
]

from hypothesis import HealthCheck, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from programs import programs  # noqa: E402
from test_random_programs import run  # noqa: E402

import girih  # noqa: E402


def fuzz_round(number: int, examples: int) -> None:
    """Runs some random programs, which depend on the number alone."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(), st.booleans())
    def try_program(program, dynamic):
        run(program, dynamic)

    try_program()
    girih.reset()


def main() -> int:
    """Runs rounds until the time is over; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="default: 600")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--examples", type=int, default=100, help="programs per round")
    parsed = parser.parse_args()
    end = time.monotonic() + parsed.seconds
    number = parsed.seed
    while time.monotonic() < end:
        print(f"seed {number}", file=sys.stderr, flush=True)
        fuzz_round(number, parsed.examples)
        number += 1
    print(f"no failure in {(number - parsed.seed) * parsed.examples} programs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
