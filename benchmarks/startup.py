"""Import time, and the first call of a 10-op function in a fresh process.

The first ``compile`` of a process loads a compiler, so that is part of its rows.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from benchmarks import fresh, options, results

_WORKER = "benchmarks.worker"


@dataclass(frozen=True)
class Row:
    """What was timed, with the seconds of every run."""

    what: str
    seconds: list[float]

    @property
    def median(self) -> float:
        """Median of all runs."""
        return statistics.median(self.seconds)


def _imports(*names: str) -> Callable[[dict[str, str]], float]:
    def run(environment):
        return fresh.run(_WORKER, "imports", *names, environment=environment)["seconds"]

    return run


def _first_call(engine: str, until: str) -> Callable[[dict[str, str]], float]:
    def run(environment):
        times = fresh.run(_WORKER, "first-call", engine, environment=environment)
        return times[until]

    return run


WARM = {
    "import torch": _imports("torch"),
    "import torch, girih": _imports("torch", "girih"),
    "compile(), girih": _first_call("girih", "made"),
    "compile(), inductor": _first_call("inductor", "made"),
    "first call, eager": _first_call("eager", "first"),
    "compile() and first call, girih, code on disk": _first_call("girih", "first"),
    "compile() and first call, inductor, code on disk": _first_call(
        "inductor", "first"
    ),
}
COLD = {
    "compile() and first call, girih, empty cache": _first_call("girih", "first"),
    "compile() and first call, inductor, empty cache": _first_call("inductor", "first"),
}


def measure(rounds: int, cold_rounds: int) -> list[Row]:
    """Runs every kind of process in turn, round after round."""
    seconds: dict[str, list[float]] = {what: [] for what in [*WARM, *COLD]}
    for _ in options.progress(range(cold_rounds), lambda n: f"empty caches, {n}"):
        for what, run in COLD.items():
            with fresh.empty_caches() as environment:
                seconds[what].append(run(environment))
    with fresh.empty_caches() as environment:
        for run in WARM.values():  # fills the file system's and the code caches
            run(environment)
        for _ in options.progress(range(rounds), lambda n: f"warm, {n}"):
            for what, run in WARM.items():
                seconds[what].append(run(environment))
    return [Row(what, values) for what, values in seconds.items()]


def text_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    cells = [
        [
            row.what,
            results.seconds_text(row.median),
            results.seconds_text(min(row.seconds)),
            len(row.seconds),
        ]
        for row in rows
    ]
    return results.table(["what", "median", "least", "runs"], cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    parsed = options.parser(__doc__).parse_args(arguments)
    rows = measure(
        rounds=3 if parsed.quick else 9, cold_rounds=1 if parsed.quick else 3
    )
    text = text_table(rows)
    print(text)
    if parsed.output:
        results.write(parsed.output, [asdict(row) for row in rows], text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
