"""One training step: time, peak memory, cold compile time, agreement of the losses.

A step is forward, loss, backward and AdamW (eager's fused one, for all engines). Each
engine trains a copy of its own from the same seed. Peak memory is what a step adds to
what the process holds between steps, in a fresh process for each engine. That one finds
compiled code in the caches: in a process that has compiled, what a step frees may stay
in holes between what the compiler left on the heap, and would count as alive.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch

from benchmarks import agreement, fresh, options, results
from benchmarks.engines import ENGINES
from benchmarks.measure import measure
from benchmarks.training_cases import CASES, Training

COMPARED_STEPS = 5


@dataclass(frozen=True)
class Row:
    """One case; by engine.

    Attributes:
        case: Its name.
        seconds: Median time of a step.
        peak_bytes: What a step adds to the memory of the process.
        cold_compile: Seconds that the first step takes beyond a later one, with empty
            caches.
        differences: Of losses and gradients from eager's, relative to the largest.
    """

    case: str
    seconds: dict[str, float]
    peak_bytes: dict[str, int]
    cold_compile: dict[str, float]
    differences: dict[str, float]


def run_case(name: str, *, quick: bool) -> Row:
    """Checks and measures one case.

    Raises:
        Disagreement: Losses or gradients differ from eager's.
        RuntimeError: A graph that girih captured runs eager.
    """
    trainings = {e: Training(CASES[name], make) for e, make in ENGINES.items()}
    differences = compare(name, trainings)
    steps = {engine: training.step for engine, training in trainings.items()}
    timings = measure(steps, seconds=5.0 if quick else 40.0, min_rounds=7)
    seconds = {engine: timing.median for engine, timing in timings.items()}
    del trainings, steps
    peaks, cold = {}, {}
    for engine in ENGINES:
        with fresh.empty_caches() as environment:
            arguments = "benchmarks.worker", "train", name, engine
            found = fresh.run(*arguments, environment=environment)
            cold[engine] = found["first"] - found["later"]
            peaks[engine] = fresh.run(*arguments, environment=environment)["peak"]
    return Row(name, seconds, peaks, cold, differences)


def compare(name: str, trainings: dict[str, Training]) -> dict[str, float]:
    """The first steps of all engines, compared with eager's; differences by engine.

    Raises:
        Disagreement: Losses or gradients differ from eager's.
        RuntimeError: A graph that girih captured runs eager.
    """
    found = {engine: first_steps(training) for engine, training in trainings.items()}
    return {
        engine: agreement.check(
            f"{engine} on {name}", actual, found["eager"], torch.float32
        )
        for engine, actual in found.items()
    }


def first_steps(training: Training) -> list[torch.Tensor]:
    """All gradients of the first step in one, then the losses of the first steps.

    In one, because differences count by the largest gradient: some, as those of the
    biases of attention's keys, are zero but for rounding.
    """
    losses = [training.step()]
    gradients = torch.cat([gradient.flatten() for gradient in training.gradients()])
    losses += [training.step() for _ in range(COMPARED_STEPS - 1)]
    training.check_compiled()
    return [gradients, torch.stack(losses)]


def text_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, one line per case and engine."""
    header = [
        "case",
        "engine",
        "step",
        "over eager",
        "over Inductor",
        "peak memory",
        "cold compile",
        "difference",
    ]
    return results.table(header, [_cells(row, e) for row in rows for e in row.seconds])


def _cells(row: Row, engine: str) -> list[str]:
    seconds, cold = row.seconds[engine], row.cold_compile[engine]
    return [
        row.case,
        engine,
        results.seconds_text(seconds),
        f"{row.seconds['eager'] / seconds:.2f}",
        f"{row.seconds['inductor'] / seconds:.2f}",
        f"{row.peak_bytes[engine] / 2**20:.1f} MiB",
        "" if engine == "eager" else results.seconds_text(cold),
        f"{row.differences[engine]:.0e}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    parser = options.parser(__doc__)
    parser.add_argument(
        "--cases",
        type=options.names,
        default=list(CASES),
        help=f"comma-separated names, out of {', '.join(CASES)}",
    )
    parsed = parser.parse_args(arguments)
    if unknown := sorted(set(parsed.cases) - set(CASES)):
        parser.error(f"unknown cases {unknown}; known: {', '.join(CASES)}")
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    rows = [
        run_case(name, quick=parsed.quick)
        for name in options.progress(parsed.cases, str)
    ]
    text = text_table(rows)
    print(text)
    if parsed.output:
        results.write(parsed.output, [asdict(row) for row in rows], text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
