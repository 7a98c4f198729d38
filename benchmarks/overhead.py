"""Cost of one call where the work is nothing: 16 floats."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F

from benchmarks import agreement, options, results
from benchmarks.engines import ENGINES
from benchmarks.measure import Timing, measure


def one_kernel(x):
    """One fused kernel."""
    return F.silu(x) * x + 1


def two_outputs(x, y):
    """One kernel with two inputs and two results."""
    return x * y + 1, (x - y).relu()


def matmul_and_kernels(x, weight):
    """A matrix product between kernels."""
    return F.gelu((x * 2.0) @ weight + 1.0) - 0.5


@dataclass(frozen=True)
class Row:
    """One function; times by engine."""

    case: str
    timings: dict[str, Timing]


CASES: dict[str, tuple[Callable, tuple[tuple[int, ...], ...]]] = {
    "one kernel": (one_kernel, ((16,),)),
    "two inputs, two outputs": (two_outputs, ((16,), (16,))),
    "matmul between kernels": (matmul_and_kernels, ((4, 4), (4, 4))),
}
"""From the name to the function and the shapes of its arguments."""


def run_case(name: str, *, quick: bool) -> Row:
    """Checks and measures one function.

    Raises:
        Disagreement: A compiled result differs from eager's.
    """
    function, shapes = CASES[name]
    inputs = [torch.randn(shape) for shape in shapes]
    expected = function(*inputs)
    calls = {}
    for engine, compile_ in ENGINES.items():
        calls[engine] = functools.partial(compile_(function), *inputs)
        what = f"{engine} on {name}"
        agreement.check(what, calls[engine](), expected, torch.float32)
    return Row(name, measure(calls, seconds=1.0 if quick else 5.0, max_rounds=1001))


def text_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table: median, and least in brackets."""
    cells = [
        [
            row.case,
            *(
                f"{row.timings[engine].median * 1e6:.1f} us "
                f"({row.timings[engine].minimum * 1e6:.1f})"
                for engine in ENGINES
            ),
        ]
        for row in rows
    ]
    return results.table(["call", *ENGINES], cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    parsed = options.parser(__doc__).parse_args(arguments)
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    with torch.no_grad():
        rows = [
            run_case(name, quick=parsed.quick)
            for name in options.progress(list(CASES), str)
        ]
    text = text_table(rows)
    print(text)
    if parsed.output:
        results.write(parsed.output, [asdict(row) for row in rows], text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
