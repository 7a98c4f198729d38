"""Eager, Inductor and girih on a GPU: kernels, overhead of calls, models.

``python -m benchmarks.gpu`` measures all of it; ``--parts``, ``--cases``, ``--models``
and ``--kinds`` choose. Every part runs in processes of its own, so a case that fails is
a line of the result. ``--output STEM`` writes STEM.json and STEM.md after each row, and
``--resume`` goes on behind the rows that are there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from benchmarks import fresh, options, results
from benchmarks.gpu import report, supervisor
from benchmarks.gpu.attempts import Row
from benchmarks.gpu.cases import CASES, by_name
from benchmarks.gpu.engines import NAMES
from benchmarks.gpu.models import ALL, KINDS, MODELS
from benchmarks.gpu.overhead import CALLS
from benchmarks.gpu.supervisor import Settings

PARTS = ("kernels", "overhead", "models")
TABLES = {
    "kernels": report.kernels_table,
    "overhead": report.overhead_table,
    "models": report.models_table,
}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    parser = options.parser(__doc__)
    parser.add_argument("--parts", type=options.names, default=list(PARTS))
    parser.add_argument("--cases", type=options.names, help="kernels; default: all")
    parser.add_argument("--models", type=options.names, default=list(MODELS))
    parser.add_argument("--kinds", type=options.names, default=list(KINDS))
    parser.add_argument("--engines", type=options.names, default=list(NAMES))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--mode", default="default", help="mode of the compilers")
    parser.add_argument("--resume", action="store_true", help="keep rows of STEM.json")
    parser.add_argument("--small", action="store_true", help="sizes of unit tests")
    parsed = parser.parse_args(arguments)
    if parsed.resume and not parsed.output:
        parser.error("--resume needs --output")
    parsed.cases = parsed.cases or [case.name for case in CASES]
    _check_names(parser, parsed)
    return parsed


def _check_names(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    try:
        by_name(parsed.cases)
    except ValueError as error:
        parser.error(str(error))
    for what, known in (
        ("parts", PARTS),
        ("models", ALL),
        ("kinds", KINDS),
        ("engines", NAMES),
    ):
        if unknown := sorted(set(getattr(parsed, what)) - set(known)):
            parser.error(f"unknown {what} {unknown}; known: {', '.join(known)}")


def measure(parsed: argparse.Namespace, done: set[str]) -> Iterator[tuple[str, Row]]:
    """The part and the row of everything that is wanted and not done."""
    settings = Settings(
        parsed.device,
        parsed.mode,
        tuple(parsed.engines),
        parsed.quick,
        parsed.small,
    )
    with fresh.empty_caches() as environment:
        for part, names in (("kernels", parsed.cases), ("overhead", list(CALLS))):
            left = [name for name in names if name not in done]
            if part in parsed.parts and left:
                for row in supervisor.rows(part, left, settings, environment):
                    yield part, row
    if "models" in parsed.parts:
        names = [f"{model} {kind}" for model in parsed.models for kind in parsed.kinds]
        for name in names:
            if name not in done:
                yield "models", model_row(name, settings)


def model_row(name: str, settings: Settings) -> Row:
    """The row of a model, with compile times of fresh processes and empty caches.

    A quick run has compile times of one process, in which girih compiles first.
    """
    compile_seconds = {}
    with fresh.empty_caches() as environment:
        compilers = [e for e in settings.engines if e != "eager" and not settings.quick]
        for engine in compilers:
            seconds = supervisor.cold_compile(name, engine, settings, environment)
            if seconds is not None:
                compile_seconds[engine] = seconds
        (row,) = supervisor.rows("models", [name], settings, environment)
    return row if settings.quick else {**row, "compile_seconds": compile_seconds}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 1 where something failed."""
    parsed = parse(arguments)
    rows = read(parsed) if parsed.resume else {}
    done = {row["case"] for found in rows.values() for row in found}
    for part, row in measure(parsed, done):
        rows.setdefault(part, []).append(row)
        seconds = row.get("seconds", {})
        times = {name: results.seconds_text(value) for name, value in seconds.items()}
        print(f"{row['case']}: {times} {row['failures'] or ''}", file=sys.stderr)
        if parsed.output:  # after each row, so that what ends a run early loses nothing
            write(parsed, rows)
    print(text_of(rows))
    return int(any(row["failures"] for found in rows.values() for row in found))


def text_of(rows: dict[str, list[Row]]) -> str:
    """The tables of all parts, and the summary."""
    tables = [TABLES[part](found) for part, found in rows.items()]
    return "\n\n".join([*tables, report.summary(rows)])


def read(parsed: argparse.Namespace) -> dict[str, list[Row]]:
    """The rows of STEM.json without failures, by part."""
    rows: dict[str, list[Row]] = {}
    file = parsed.output.with_suffix(".json")
    for row in json.loads(file.read_text())["rows"] if file.exists() else ():
        if not row["failures"]:
            rows.setdefault(row["part"], []).append(row)
    return rows


def write(parsed: argparse.Namespace, rows: dict[str, list[Row]]) -> None:
    """Writes STEM.json and STEM.md."""
    flat = [{**row, "part": part} for part, found in rows.items() for row in found]
    extra = report.environment(parsed.device)
    extra |= {"mode": parsed.mode, "is_quick": parsed.quick}
    results.write(parsed.output, flat, text_of(rows), extra)


if __name__ == "__main__":
    sys.exit(main())
