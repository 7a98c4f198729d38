"""Rounds of random programs for as long as wanted, from the command line."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from hypothesis import HealthCheck, seed, settings


def fuzz(description: str, test: Callable, after_round: Callable[[], None]) -> int:
    """Runs rounds until the time is over; returns the exit code.

    Each round draws other programs, which depend on its number alone.

    Args:
        description: For the help text.
        test: What ``hypothesis.given`` made of a test.
        after_round: Called when a round ends.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=600, help="default: 600")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--examples", type=int, default=100, help="programs per round")
    parsed = parser.parse_args()
    limits = settings(
        max_examples=parsed.examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    limited = limits(test)
    end = time.monotonic() + parsed.seconds
    number = parsed.seed
    while time.monotonic() < end:
        print(f"seed {number}", file=sys.stderr, flush=True)
        seed(number)(limited)()
        after_round()
        number += 1
    print(f"no failure in {(number - parsed.seed) * parsed.examples} programs")
    return 0
