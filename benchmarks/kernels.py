"""Single kernels: eager, Inductor and girih, in cache and out of cache."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from benchmarks import agreement, options, plot, results
from benchmarks.cases import CASES, IN_CACHE, OUT_OF_CACHE, Case, select
from benchmarks.engines import ENGINES
from benchmarks.measure import keep_freed_memory, measure

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
LEAST_RATIO = 0.7
"""No case may run at less than this share of Inductor's speed."""


@dataclass(frozen=True)
class Row:
    """One case at one size in one dtype; times in seconds."""

    case: str
    size: str
    dtype: str
    seconds: dict[str, float]
    differences: dict[str, float]

    def speed_up(self, engine: str, over: str) -> float:
        """How many times faster the engine is than another."""
        return self.seconds[over] / self.seconds[engine]


def run_case(case: Case, size: str, dtype_name: str, *, quick: bool) -> Row:
    """Compiles, checks and measures one case.

    Raises:
        Disagreement: A result differs from the float64 reference.
    """
    dtype = DTYPES[dtype_name]
    inputs = case.make_inputs(size, dtype)
    expected = agreement.reference(case.function, inputs)
    differences, calls = {}, {}
    for name, engine in ENGINES.items():
        function = engine(case.function)
        what = f"{name} on {case.name}, {size}, {dtype_name}"
        found = agreement.check(what, function(*inputs), expected, dtype)
        differences[name] = found
        calls[name] = functools.partial(function, *inputs)
    timings = measure(calls, seconds=0.3 if quick else 2.0, min_rounds=5)
    seconds = {name: timing.median for name, timing in timings.items()}
    return Row(case.name, size, dtype_name, seconds, differences)


def summary(rows: Sequence[Row]) -> str:
    """Geometric means, and the cases that are too slow."""
    lines = [
        f"girih over {other}: geometric mean "
        f"{results.geometric_mean(row.speed_up('girih', other) for row in rows):.2f}, "
        f"lowest {min(row.speed_up('girih', other) for row in rows):.2f}"
        for other in ("eager", "inductor")
    ]
    slow = [row for row in rows if row.speed_up("girih", "inductor") < LEAST_RATIO]
    for row in slow:
        ratio = row.speed_up("girih", "inductor")
        lines.append(
            f"under {LEAST_RATIO} of Inductor: {row.case}, {row.size}, {row.dtype}: "
            f"{ratio:.2f}"
        )
    return "\n".join(lines)


def text_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    header = ["case", "size", "dtype", *ENGINES, "over eager", "over Inductor"]
    cells = [
        [
            row.case,
            row.size,
            row.dtype,
            *(results.seconds_text(row.seconds[name]) for name in ENGINES),
            f"{row.speed_up('girih', 'eager'):.2f}",
            f"{row.speed_up('girih', 'inductor'):.2f}",
        ]
        for row in rows
    ]
    return results.table(header, cells)


def write(rows: Sequence[Row], stem: Path, text: str) -> None:
    """Writes STEM.json, STEM.md and STEM.svg."""
    results.write(stem, [asdict(row) for row in rows], text)
    panels: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        bars = {name: row.speed_up(name, "eager") for name in ("inductor", "girih")}
        panels.setdefault(f"{row.size}, {row.dtype}", {})[row.case] = bars
    svg = plot.bar_panels("Speed-up over eager PyTorch", panels)
    stem.with_suffix(".svg").write_text(svg)


def parse(arguments: Sequence[str] | None):
    """Parses the command line."""
    parser = options.parser(__doc__)
    known = ", ".join(case.name for case in CASES)
    parser.add_argument(
        "--cases",
        type=options.names,
        help=f"comma-separated names; default: all of {known}",
    )
    parser.add_argument(
        "--dtype", choices=[*DTYPES, "all"], default="all", help="floating dtype"
    )
    parser.add_argument(
        "--size",
        choices=[IN_CACHE, OUT_OF_CACHE, "all"],
        default="all",
        help="whether the tensors fit the L2 cache",
    )
    parsed = parser.parse_args(arguments)
    try:
        parsed.cases = select(parsed.cases)
    except ValueError as error:
        parser.error(str(error))
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    parsed = parse(arguments)
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    keep_freed_memory()
    dtypes = list(DTYPES) if parsed.dtype == "all" else [parsed.dtype]
    sizes = [IN_CACHE, OUT_OF_CACHE] if parsed.size == "all" else [parsed.size]
    runs = [(c, s, d) for c in parsed.cases for s in sizes for d in dtypes]
    with torch.no_grad():
        rows = [
            run_case(case, size, dtype, quick=parsed.quick)
            for case, size, dtype in options.progress(
                runs, lambda run: f"{run[0].name}, {run[1]}, {run[2]}"
            )
        ]
    text = f"{text_table(rows)}\n\n{summary(rows)}"
    print(text)
    if parsed.output:
        write(rows, parsed.output, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
