"""Random modules, compiled and in eager: results, gradients, buffers, arguments.

Seeds from 1000000 on give programs with computed pads, crops, masks and indices, whose
modules change during the call.

A failure is shrunk and printed as a program that can be run. The exit code is 1 where
there was one. A seed is a program: --seed N --count 1 runs it again.

With --choices each program is compiled under decisions that are drawn from its seed
(the option `choices_seed`), and a program that is wrong under the usual ones, too, does
not count: `make fuzz-choices`.

A process that crashes or hangs is a failure, unless eager alone ends so, too. A run can
be split into processes with ranges of their own, here two: --seed 0 --count 500 --json
a.json and --seed 500 --count 500 --json b.json. Compiled code is not kept on disk
(GIRIH_NO_CACHE=0 keeps it).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent), str(HERE.parents[1] / "support"), *sys.path[1:]]
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Hardly a kernel comes twice, and each run would leave thousands in the user's folder.
os.environ.setdefault("GIRIH_NO_CACHE", "1")

from random_modules import run  # noqa: E402
from random_modules.grammar import program  # noqa: E402
from random_modules.record import Record  # noqa: E402


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--count", type=int, default=20_000, help="programs; default: 20000")
    add("--seconds", type=float, default=float("inf"), help="at most")
    add("--seed", type=int, default=0, help="of the first program; default: 0")
    add("--door", choices=("girih", "torch"), default="", help="default: both")
    add("--choices", action="store_true", help="compile under random decisions")
    add("--jobs", type=int, default=1, help="child processes; default: 1")
    add("--limit", type=float, default=60, help="seconds of a program; default: 60")
    add("--ignore", default="$^", metavar="REGEX", help="failures that are known")
    add("--failures", type=int, default=20, help="stop after these; default: 20")
    add("--tries", type=int, default=150, help="to shrink a failure; 0: as drawn")
    add("--shrinking", type=float, default=300, help="seconds of that; default: 300")
    add("--json", type=Path, metavar="FILE", help="totals and failures, as it runs")
    add("--show", action="store_true", help="print the first program and run nothing")
    return parser.parse_args()


def main() -> int:
    """Runs what the arguments ask for; returns the exit code."""
    options = _parsed()
    if options.show:
        shown = program(options.seed, options.door)
        print(shown.runnable if shown else "no program")
        return 0
    totals, found, start = run.Totals(), 0, time.monotonic()
    record = Record(options.json, options.seed, options.count, totals)
    for failure in run.failures(
        options.seed,
        options.count,
        options.seconds,
        options.door,
        options.jobs,
        options.limit,
        totals,
        options.choices,
    ):
        text = f"{failure.verdict.kind}: {failure.verdict.detail}"
        if re.search(options.ignore, text):
            continue
        found += 1
        record.add(failure, _print(failure, found, totals, options))
        if found >= options.failures:
            break
    record.end()
    _print_totals(totals, found, time.monotonic() - start)
    return int(found > 0)


def _print(failure: run.Failure, number: int, totals: run.Totals, options):
    """Prints a failure as drawn and shrunk; gives it shrunk."""
    head = f"failure {number}, seed {failure.seed}, after {totals.programs} programs"
    verdict = failure.verdict
    print(f"--- {head}: {verdict.kind}: {verdict.detail}", flush=True)
    if options.tries:
        limits = (options.limit, options.tries, options.shrinking)
        failure = run.minimal(failure, *limits)
        print(f"--- shrunk: {failure.verdict.kind}: {failure.verdict.detail}")
    print(failure.text if options.tries else "", failure.output, flush=True)
    return failure


def _print_totals(totals: run.Totals, found: int, seconds: float) -> None:
    kinds = ", ".join(f"{n} {kind}" for kind, n in totals.kinds.most_common())
    print(f"{totals.programs} programs in {seconds:.0f} s: {kinds or 'none'}")
    for reason, count in totals.refused.most_common(10):
        print(f"ran eager, said so: {count} times: {reason}")
    print(f"{found} failures")


if __name__ == "__main__":
    sys.exit(main())
