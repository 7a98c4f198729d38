"""Programs of the kinds of which models consist, at sizes that are drawn at random.

Eager, Inductor and girih compile the same plain functions, forward, or forward and
backward. Each program is checked, then timed in alternating rounds: on a GPU in CUDA
graphs with a cold L2 cache, on a CPU with warm caches. The tables show means over all
programs and over each kind, and the programs that are slowest. ``--output STEM`` writes
STEM.json and STEM.md after each program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks import fresh, options, results
from benchmarks.gate import ahead
from benchmarks.gpu import report as gpu_report
from benchmarks.gpu import supervisor
from benchmarks.gpu.engines import NAMES
from benchmarks.gpu.supervisor import Settings
from benchmarks.shapes import report
from benchmarks.shapes.cases import LIMITS, select
from benchmarks.shapes.kinds import KINDS

_PART = "shapes"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line; ``cases`` holds what is measured."""
    parser = options.parser(__doc__)
    parser.add_argument("--count", type=int, default=300, help="programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument(
        "--kinds", type=options.names, help=f"out of {', '.join(KINDS)}"
    )
    parser.add_argument(
        "--compile-ahead",
        type=int,
        default=0,
        metavar="N",
        help="compile all programs first, in N processes that share caches; 0 for none",
    )
    parser.add_argument("--engines", type=options.names, default=list(NAMES))
    parser.add_argument("--device", choices=tuple(LIMITS), default="cpu")
    parsed = parser.parse_args(arguments)
    if unknown := sorted(set(parsed.engines) - set(NAMES)):
        parser.error(f"unknown engines {unknown}; known: {', '.join(NAMES)}")
    try:
        drawn = select(parsed.device, parsed.count, parsed.first, parsed.kinds)
        parsed.cases = list(drawn)
    except ValueError as error:
        parser.error(str(error))
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
            ahead.compile_all(names, settings, environment, parsed.compile_ahead, _PART)
        for row in supervisor.rows(_PART, names, settings, environment):
            rows.append(row)
            ratio = report.over(row, "inductor")
            shown = row["failures"] or (f"{ratio:.2f}" if ratio else "")
            print(f"[{len(rows)}/{len(names)}] {row['case']}: {shown}", file=sys.stderr)
            if parsed.output:  # after each row, so that an early end loses nothing
                results.write(parsed.output, rows, report.text_of(rows), extra)
    print(report.text_of(rows))
    return int(any(row["failures"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
