"""BERT-base and GPT-2 inference: time of a call, cold compile time, agreement."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch

from benchmarks import agreement, fresh, options, results
from benchmarks.engines import ENGINES, behind_torch_compile
from benchmarks.measure import measure
from benchmarks.model_table import MODELS

ALL_ENGINES = {**ENGINES, "girih behind torch.compile": behind_torch_compile}


@dataclass(frozen=True)
class Row:
    """One model; times in seconds, by engine."""

    model: str
    seconds: dict[str, float]
    differences: dict[str, float]
    cold_compile: dict[str, float]


def run_model(name: str, *, quick: bool) -> Row:
    """Checks and measures one model.

    Raises:
        Disagreement: A compiled result differs from eager's.
    """
    seconds, differences = _time_calls(name, quick=quick)
    return Row(name, seconds, differences, _cold_compile(name))


def _time_calls(name: str, *, quick: bool):
    module, inputs = MODELS[name].build()
    expected = module(**inputs)
    calls, differences = {}, {}
    for engine, compile_ in ALL_ENGINES.items():
        function = compile_(module)
        actual = function(**inputs)
        what = f"{engine} on {name}"
        differences[engine] = agreement.check(what, actual, expected, torch.float32)
        calls[engine] = functools.partial(function, **inputs)
    timings = measure(calls, seconds=5.0 if quick else 30.0, min_rounds=5)
    return {engine: timing.median for engine, timing in timings.items()}, differences


def _cold_compile(name: str) -> dict[str, float]:
    seconds = {}
    for engine in ("inductor", "girih"):
        with fresh.empty_caches() as environment:
            times = fresh.run(
                "benchmarks.worker", "compile", name, engine, environment=environment
            )
        seconds[engine] = times["first"] - times["later"]
    return seconds


def text_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, one line per model and engine."""
    header = ["model", "engine", "call", "over eager", "cold compile", "difference"]
    cells = []
    for row in rows:
        for engine, seconds in row.seconds.items():
            cold = row.cold_compile.get(engine)
            cells.append(
                [
                    row.model,
                    engine,
                    results.seconds_text(seconds),
                    f"{row.seconds['eager'] / seconds:.2f}",
                    "" if cold is None else results.seconds_text(cold),
                    f"{row.differences[engine]:.0e}",
                ]
            )
    return results.table(header, cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    parser = options.parser(__doc__)
    parser.add_argument(
        "--cases",
        type=options.names,
        default=list(MODELS),
        help=f"comma-separated names, out of {', '.join(MODELS)}",
    )
    parsed = parser.parse_args(arguments)
    if unknown := sorted(set(parsed.cases) - set(MODELS)):
        parser.error(f"unknown cases {unknown}; known: {', '.join(MODELS)}")
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    with torch.no_grad():
        rows = [
            run_model(name, quick=parsed.quick)
            for name in options.progress(parsed.cases, str)
        ]
    text = text_table(rows)
    print(text)
    if parsed.output:
        results.write(parsed.output, [asdict(row) for row in rows], text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
