"""Kernels whose time is in how they read memory: eager and girih, one thread."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks import agreement, options, results
from benchmarks.engines import ENGINES
from benchmarks.measure import Timing, keep_freed_memory, measure

SLOW = 1.5
"""No case may take more than so many times what eager takes."""

IMAGES = (8, 16, 32, 32)
MATRIX = (512, 1024)

Case = tuple[Callable[[Tensor], Tensor], tuple[int, ...], torch.dtype]


def distances(size: int, reduce: Callable[[Tensor], Tensor]) -> Callable:
    """A reduction of the differences between all pairs of rows of ``size`` elements."""

    def function(x):
        return reduce(x[:128, None, :size] - x[None, :128, :size])

    return function


def squared_sum(x):
    """The sum of squares along the last dim."""
    return (x**2).sum(-1)


def padded(mode: str, sides: int) -> Callable:
    """Padding by 2 on so many sides."""
    return functools.partial(F.pad, pad=(2,) * sides, mode=mode)


CASES: dict[str, Case] = {
    "every 2nd row, elementwise": (lambda x: x[::2] * 2, MATRIX, torch.float32),
    "every 2nd column, elementwise": (lambda x: x[:, ::2] * 2, MATRIX, torch.float32),
    "every 7th column, elementwise": (lambda x: x[:, ::7] * 2, MATRIX, torch.float32),
    "every 3rd row, sum": (lambda x: x[::3].sum(), MATRIX, torch.float32),
    "every 2nd column, sum": (lambda x: x[:, ::2].sum(), MATRIX, torch.float32),
    "every 3rd column, mean": (lambda x: x[:, ::3].mean(), MATRIX, torch.float32),
    "every 7th column, sum": (lambda x: x[:, ::7].sum(), MATRIX, torch.float32),
    "every 7th column, row sums": (lambda x: x[:, ::7].sum(1), MATRIX, torch.float32),
    "every 7th column, float64": (lambda x: x[:, ::7].sum(), MATRIX, torch.float64),
    "every 7th column, bfloat16": (lambda x: x[:, ::7].sum(), MATRIX, torch.bfloat16),
    "every 7th column, int64": (lambda x: x[:, ::7].sum(), MATRIX, torch.int64),
    "every 16th column, max": (lambda x: x[:, ::16].amax(), MATRIX, torch.float32),
    "every 2nd pixel, max": (
        lambda x: x[..., ::2, ::2].amax((2, 3)),
        IMAGES,
        torch.float32,
    ),
    "unfold, mean": (lambda x: x.unfold(1, 16, 8).mean(-1), MATRIX, torch.float32),
    "unfold, sum, steps of 1": (
        lambda x: x.unfold(1, 8, 1).sum(-1),
        MATRIX,
        torch.float32,
    ),
    "unfold, max": (lambda x: x.unfold(1, 16, 8).amax(-1), MATRIX, torch.float32),
    "unfold, std": (lambda x: x.unfold(1, 16, 8).std(-1), MATRIX, torch.float32),
    "unfold, mean, float64": (
        lambda x: x.unfold(1, 16, 8).mean(-1),
        MATRIX,
        torch.float64,
    ),
    "unfold, mean, bfloat16": (
        lambda x: x.unfold(1, 16, 8).mean(-1),
        MATRIX,
        torch.bfloat16,
    ),
    **{
        f"distances of {size}": (distances(size, squared_sum), MATRIX, torch.float32)
        for size in (8, 16, 33, 64, 128, 513)
    },
    "distances of 16, float64": (
        distances(16, squared_sum),
        MATRIX,
        torch.float64,
    ),
    "distances of 16, amax": (
        distances(16, lambda x: x.abs().amax(-1)),
        MATRIX,
        torch.float32,
    ),
    "distances of 33, amin": (
        distances(33, lambda x: x.abs().amin(-1)),
        MATRIX,
        torch.float32,
    ),
    "flip of columns": (lambda x: x.flip(1) * 2, MATRIX, torch.float32),
    "flip of columns, int64": (lambda x: x.flip(1) * 2, MATRIX, torch.int64),
    "roll of columns": (lambda x: x.roll(5, 1) * 2, MATRIX, torch.float32),
    "roll of rows, sum": (lambda x: (x * x.roll(1, 0)).sum(), MATRIX, torch.float32),
    "diagonal, sum": (lambda x: x.diagonal().sum(), MATRIX, torch.float32),
    "transpose, sum": (lambda x: x.t().sum(1), MATRIX, torch.float32),
    "transpose, softmax": (lambda x: x.t().softmax(1), MATRIX, torch.float32),
    "nearest, twice": (
        lambda x: F.interpolate(x, scale_factor=2),
        IMAGES,
        torch.float32,
    ),
    "nearest, 1.5 times": (
        lambda x: F.interpolate(x, scale_factor=1.5),
        IMAGES,
        torch.float32,
    ),
    "pixel shuffle": (lambda x: F.pixel_shuffle(x, 2), IMAGES, torch.float32),
    "pixel unshuffle": (lambda x: F.pixel_unshuffle(x, 2), IMAGES, torch.float32),
    "repeat_interleave": (
        lambda x: x.repeat_interleave(3, 1),
        MATRIX,
        torch.float32,
    ),
    "reflection, 1 dim": (padded("reflect", 2), (8, 16, 256), torch.float32),
    "reflection, small": (padded("reflect", 4), (8, 16, 8, 8), torch.float32),
    "reflection": (padded("reflect", 4), IMAGES, torch.float32),
    "reflection, large": (padded("reflect", 4), (1, 3, 256, 256), torch.float32),
    "reflection, 3 dims": (padded("reflect", 6), (2, 4, 16, 16, 16), torch.float32),
    "replication": (padded("replicate", 4), IMAGES, torch.float32),
    "replication, float64": (padded("replicate", 4), IMAGES, torch.float64),
    "circular padding": (padded("circular", 4), IMAGES, torch.float32),
}
"""From the name to the function, and the shape and dtype of its argument."""


@dataclass(frozen=True)
class Row:
    """One case; times by engine."""

    case: str
    timings: dict[str, Timing]

    @property
    def ratio(self) -> float:
        """The least time of girih over that of eager: medians know other programs."""
        return self.timings["girih"].minimum / self.timings["eager"].minimum


def run_case(name: str, *, quick: bool) -> Row:
    """Checks and measures one case.

    Raises:
        Disagreement: The compiled result differs from eager's.
    """
    function, shape, dtype = CASES[name]
    torch.manual_seed(0)
    x = torch.randint(-99, 99, shape) if dtype == torch.int64 else torch.randn(shape)
    x = x.to(dtype)
    calls = {
        engine: functools.partial(ENGINES[engine](function), x)
        for engine in ("eager", "girih")
    }
    agreement.check(f"girih on {name}", calls["girih"](), calls["eager"](), dtype)
    return Row(name, measure(calls, seconds=0.3 if quick else 2.0))


def text_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table: least times, and the ratio."""
    cells = [
        [
            row.case,
            *(results.seconds_text(timing.minimum) for timing in row.timings.values()),
            f"{row.ratio:.2f}",
        ]
        for row in rows
    ]
    return results.table(["case", "eager", "girih", "girih over eager"], cells)


def summary(rows: Sequence[Row]) -> str:
    """The geometric mean, and the cases that are too slow."""
    slow = sorted((r for r in rows if r.ratio > SLOW), key=lambda r: -r.ratio)
    mean = results.geometric_mean(row.ratio for row in rows)
    lines = [f"girih over eager: geometric mean {mean:.2f}"]
    lines += [f"over {SLOW} of eager: {row.case}: {row.ratio:.2f}" for row in slow]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    parser = options.parser(__doc__)
    known = ", ".join(CASES)
    parser.add_argument("--cases", help=f"part of the names; all are: {known}")
    parsed = parser.parse_args(arguments)
    torch.set_num_threads(parsed.threads or 1)
    keep_freed_memory()
    names = [name for name in CASES if (parsed.cases or "") in name]
    with torch.no_grad():
        rows = [
            run_case(name, quick=parsed.quick)
            for name in options.progress(names, lambda name: name)
        ]
    text = f"{text_table(rows)}\n\n{summary(rows)}"
    print(text)
    if parsed.output:
        results.write(parsed.output, [asdict(row) for row in rows], text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
