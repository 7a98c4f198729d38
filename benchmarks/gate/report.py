"""Tables of the sweeps: one line each, then one line for each shape."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import results
from benchmarks.gate.sweeps import SWEEPS
from benchmarks.gpu.attempts import Row
from benchmarks.gpu.engines import NAMES
from benchmarks.gpu.kernels import COPY

_RIVALS = ("eager", "inductor")


def over_best(row: Row) -> float | None:
    """How many times faster girih is than the fastest of the others that ran."""
    return _over(row, _RIVALS)


def _over(row: Row, others: Sequence[str]) -> float | None:
    seconds = row.get("seconds", {})
    found = [seconds[name] for name in others if name in seconds]
    return min(found) / seconds["girih"] if found and "girih" in seconds else None


def text_of(rows: Sequence[Row]) -> str:
    """Both tables, and what failed."""
    parts = [sweeps_table(rows), shapes_table(rows)]
    failures = [
        f"- FAILED: {row['case']}, {engine or 'the case itself'}: "
        + " ".join(reason.split())
        for row in rows
        for engine, reason in row["failures"].items()
    ]
    return "\n\n".join([*parts, *(["\n".join(failures)] if failures else [])])


def sweeps_table(rows: Sequence[Row]) -> str:
    """Geometric means and the worst shape of each sweep, and of all."""
    cells, ratios = [], []
    for sweep in SWEEPS:
        found = [row for row in rows if row.get("sweep") == sweep.name]
        measured = [row for row in found if over_best(row)]
        if not measured:
            continue
        over = [over_best(row) for row in measured]
        worst = min(measured, key=over_best)
        ratios.append(results.geometric_mean(over))
        cells.append(
            [
                sweep.name,
                len(measured),
                f"{ratios[-1]:.2f}",
                f"{min(over):.2f}",
                worst["size"],
                _mean(measured, "inductor"),
                _mean(measured, COPY),
                f"{sweep.helion:.2f}",
            ]
        )
    mean = results.geometric_mean(ratios)
    header = ["sweep", "shapes", "over the best", "worst", "at", "over Inductor"]
    header += ["of a copy", "Helion's"]
    return f"{results.table(header, cells)}\n\nGeometric mean of the sweeps: {mean:.2f}"


def _mean(rows: Sequence[Row], other: str) -> str:
    found = [ratio for row in rows if (ratio := _over(row, [other]))]
    return f"{results.geometric_mean(found):.2f}" if found else ""


def shapes_table(rows: Sequence[Row]) -> str:
    """Device times of each shape."""
    cells = [
        [
            row["case"],
            *(_time(row, name) for name in (*NAMES, COPY)),
            "" if (ratio := over_best(row)) is None else f"{ratio:.2f}",
            "" if (share := _over(row, [COPY])) is None else f"{share:.2f}",
        ]
        for row in rows
        if "seconds" in row
    ]
    header = ["shape", *NAMES, COPY, "over the best", "of a copy"]
    return results.table(header, cells)


def _time(row: Row, name: str) -> str:
    if name in row["failures"]:
        return "failed"
    seconds = row["seconds"].get(name)
    return "" if seconds is None else results.seconds_text(seconds)
