"""The tables: all programs together, the slowest ones, and each kind."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks import results
from benchmarks.gpu.attempts import Row
from benchmarks.gpu.engines import NAMES
from benchmarks.gpu.kernels import COPY

_WORST = 40


def over(row: Row, other: str) -> float | None:
    """How many times faster than another engine girih is; None where one failed."""
    seconds = row.get("seconds", {})
    if other not in seconds or "girih" not in seconds:
        return None
    return seconds[other] / seconds["girih"]


def text_of(rows: Sequence[Row]) -> str:
    """The summary, the kinds, the slowest programs, and what failed."""
    measured = [row for row in rows if over(row, "inductor") and over(row, "eager")]
    if not measured:
        return "\n".join(_failures(rows))
    parts = [summary(measured), kinds_table(measured), worst_table(measured)]
    return "\n\n".join([*parts, "\n".join(_failures(rows))]).rstrip()


def summary(rows: Sequence[Row]) -> str:
    """Means and fifth percentiles over all programs."""
    lines = [f"{len(rows)} programs."]
    for other in ("inductor", "eager"):
        ratios = sorted(over(row, other) for row in rows)
        least = ratios[int(0.05 * len(ratios))]
        slower = sum(ratio < 0.95 for ratio in ratios)
        mean = results.geometric_mean(ratios)
        lines.append(
            f"- Over {other}: geometric mean {mean:.2f}, median "
            f"{statistics.median(ratios):.2f}, fifth percentile {least:.2f}, worst "
            f"{ratios[0]:.2f}; {slower} below 0.95."
        )
    return "\n".join(lines)


def kinds_table(rows: Sequence[Row]) -> str:
    """Means over the programs of each kind, the slowest kind first."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        kinds.setdefault(row["sweep"], []).append(row)
    means = {
        kind: [
            results.geometric_mean([over(row, other) for row in found])
            for other in ("inductor", "eager", COPY)
        ]
        for kind, found in kinds.items()
    }
    cells = [
        [kind, len(kinds[kind]), *(f"{mean:.2f}" for mean in means[kind])]
        for kind in sorted(means, key=lambda kind: means[kind][0])
    ]
    header = ["kind", "programs", "over Inductor", "over eager", "of a copy"]
    return results.table(header, cells)


def worst_table(rows: Sequence[Row]) -> str:
    """The programs that are slowest beside Inductor or eager."""
    ranked = sorted(rows, key=lambda row: min(over(row, n) for n in NAMES[:2]))
    cells = [
        [
            row["case"],
            *(results.seconds_text(row["seconds"][name]) for name in (*NAMES, COPY)),
            *(f"{over(row, other):.2f}" for other in ("inductor", "eager", COPY)),
        ]
        for row in ranked[:_WORST]
    ]
    header = ["program", *NAMES, COPY, "over Inductor", "over eager", "of a copy"]
    return results.table(header, cells)


def _failures(rows: Sequence[Row]) -> list[str]:
    return [
        f"- FAILED: {row['case']}, {engine or 'the case itself'}: "
        + " ".join(reason.split())
        for row in rows
        for engine, reason in row["failures"].items()
    ]
