"""Time of a capture, and of a call of what was captured, beside TorchDynamo's.

Both capture with their backend ``"eager"``, which compiles nothing. A cold capture is
the first of a fresh process, with the frontend imported; a warm one follows a reset.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch

from benchmarks import fresh, guard_cost, options, results
from benchmarks.capture_models import CAPTURED

ENGINES = tuple(guard_cost.CAPTURES)


@dataclass(frozen=True)
class Row:
    """One model; the seconds of each run, by engine."""

    model: str
    cold: dict[str, list[float]]
    warm: dict[str, list[float]]
    calls: dict[str, list[float]]


def time_captures(model: str, rounds: int) -> Row:
    """Captures a model in fresh processes, by each engine in turn."""
    times = {kind: {engine: [] for engine in ENGINES} for kind in _KINDS}
    for round_ in range(rounds):
        for engine in ENGINES if round_ % 2 else reversed(ENGINES):
            found = fresh.run("benchmarks.worker", "capture", model, engine)
            for kind in _KINDS:
                times[kind][engine].append(found[kind])
    return Row(model, *times.values())


_KINDS = ("cold", "warm", "calls")


def captures_table(rows: Sequence[Row]) -> str:
    """The medians as a Markdown table."""
    header = ["model", "capture", *ENGINES, "times faster"]
    cells = []
    for row in rows:
        for kind in ("cold", "warm"):
            medians = [statistics.median(getattr(row, kind)[e]) for e in ENGINES]
            texts = [results.seconds_text(seconds) for seconds in medians]
            cells.append([row.model, kind, *texts, f"{medians[0] / medians[1]:.1f}"])
    return results.table(header, cells)


def calls_table(rows: Sequence[guard_cost.Row]) -> str:
    """Medians, and least in brackets."""
    cells = [
        [
            row.case,
            *(
                f"{timing.median * 1e6:.2f} us ({timing.minimum * 1e6:.2f})"
                for timing in row.timings.values()
            ),
        ]
        for row in rows
    ]
    return results.table(["call", "plain", *ENGINES], cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    parser = options.parser(__doc__)
    parser.add_argument(
        "--models",
        type=options.names,
        default=list(CAPTURED),
        help=f"comma-separated names, out of {', '.join(CAPTURED)}",
    )
    parsed = parser.parse_args(arguments)
    if unknown := sorted(set(parsed.models) - set(CAPTURED)):
        parser.error(f"unknown models {unknown}; known: {', '.join(CAPTURED)}")
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    rounds = 1 if parsed.quick else 5
    captures = [time_captures(m, rounds) for m in options.progress(parsed.models, str)]
    with torch.no_grad():
        calls = [
            guard_cost.measure_case(name, quick=parsed.quick)
            for name in options.progress(list(guard_cost.CASES), str)
        ]
    text = f"{captures_table(captures)}\n\n{calls_table(calls)}"
    print(text)
    if parsed.output:
        rows = [asdict(row) for row in (*captures, *calls)]
        results.write(parsed.output, rows, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
