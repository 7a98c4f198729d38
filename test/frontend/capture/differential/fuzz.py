"""Random programs for as long as wanted.

    python test/frontend/capture/differential/fuzz.py --seconds 600

Each round draws other programs. The first failure is shrunk, printed and ends the run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from hypothesis import HealthCheck, given, note, seed, settings  # noqa: E402

import girih  # noqa: E402
from differential import session  # noqa: E402
from differential.random_programs import programs  # noqa: E402


def fuzz_round(number: int, examples: int) -> None:
    """Runs some random programs, which depend on the number alone."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def try_program(drawn):
        source, program = drawn
        note(source)
        note(repr(program.calls))
        session.check(program)
        session.check_varied(program)

    try_program()
    girih.reset()


def main() -> None:
    """Runs rounds until the time is over."""
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


if __name__ == "__main__":
    main()
