"""Kernels that people write by hand, over the shapes of Helion's sweeps, on a GPU.

Eager, Inductor and girih compile the same plain functions. Each shape is checked, then
timed in CUDA graphs with a cold L2 cache, in alternating rounds, beside a copy of its
bytes. The table says how many times faster girih is than the best of the other two.
``--output STEM`` writes STEM.json and STEM.md after each shape.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks import fresh, options, results
from benchmarks.gate import ahead, report
from benchmarks.gate.sweeps import SWEEPS, Case, select
from benchmarks.gpu import report as gpu_report
from benchmarks.gpu import supervisor
from benchmarks.gpu.engines import NAMES
from benchmarks.gpu.supervisor import Settings


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line; ``cases`` holds what is measured."""
    parser = options.parser(__doc__)
    known = ", ".join(sweep.name for sweep in SWEEPS)
    parser.add_argument("--sweeps", type=options.names, help=f"out of {known}")
    parser.add_argument(
        "--every", type=int, default=1, help="take every so many-th shape, and the last"
    )
    parser.add_argument(
        "--compile-ahead",
        type=int,
        default=0,
        metavar="N",
        help="compile all shapes first, in N processes that share caches; 0 for none",
    )
    parser.add_argument("--engines", type=options.names, default=list(NAMES))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes of unit tests")
    parsed = parser.parse_args(arguments)
    if parsed.every < 1:
        parser.error(f"--every must be at least 1, got {parsed.every}")
    if unknown := sorted(set(parsed.engines) - set(NAMES)):
        parser.error(f"unknown engines {unknown}; known: {', '.join(NAMES)}")
    try:
        parsed.cases = list(select(parsed.sweeps, parsed.every))
    except ValueError as error:
        parser.error(str(error))
    if parsed.small:
        sweeps = dict.fromkeys(case.sweep.small() for case in parsed.cases)
        parsed.cases = [Case(sweep, sweep.shapes[0]) for sweep in sweeps]
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 1 where something failed."""
    parsed = parse(arguments)
    settings = Settings(
        parsed.device, engines=tuple(parsed.engines), quick=parsed.quick
    )
    names = [case.name for case in parsed.cases]
    extra = gpu_report.environment(parsed.device) | {"is_quick": parsed.quick}
    rows = []
    with fresh.empty_caches() as environment:
        if parsed.compile_ahead:
            ahead.compile_all(names, settings, environment, parsed.compile_ahead)
        for row in supervisor.rows("gate", names, settings, environment):
            rows.append(row)
            ratio = report.over_best(row)
            shown = row["failures"] or (f"{ratio:.2f}" if ratio else "")
            print(f"[{len(rows)}/{len(names)}] {row['case']}: {shown}", file=sys.stderr)
            if parsed.output:  # after each row, so that an early end loses nothing
                results.write(parsed.output, rows, report.text_of(rows), extra)
    print(report.text_of(rows))
    return int(any(row["failures"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
