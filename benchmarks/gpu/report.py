"""Tables and summaries of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from benchmarks import results
from benchmarks.gpu.attempts import Row
from benchmarks.gpu.engines import NAMES
from benchmarks.gpu.kernels import COPY

LEAST_SHARE = 0.9
"""Of the speed of a copy; kernels that move each byte once must reach it."""


def environment(device: str) -> dict[str, Any]:
    """What the numbers depend on, beside what ``results`` knows."""
    import girih

    found: dict[str, Any] = {"girih": girih.__version__, "device": device}
    if torch.device(device).type != "cuda":
        return found
    import triton

    properties = torch.cuda.get_device_properties(torch.device(device))
    return found | {
        "device": properties.name,
        "memory": properties.total_memory,
        "processors": properties.multi_processor_count,
        "cuda": torch.version.cuda,
        "triton": triton.__version__,
    }


def kernels_table(rows: Sequence[Row]) -> str:
    """Device times, and what share of a copy's speed they are."""
    header = ["kernel", "size", "dtype", *NAMES, "copy", "Inductor / copy"]
    header += ["girih / copy", "over eager", "over Inductor", "limit"]
    cells = [
        [
            row["case"],
            row["size"],
            row["dtype"],
            *(_time(row, name) for name in (*NAMES, COPY)),
            _ratio(row, COPY, "inductor"),
            _ratio(row, COPY, "girih"),
            _ratio(row, "eager", "girih"),
            _ratio(row, "inductor", "girih"),
            row["limit"],
        ]
        for row in rows
        if "seconds" in row
    ]
    return results.table(header, cells)


def overhead_table(rows: Sequence[Row]) -> str:
    """The host's time of a call: median, and least in brackets."""
    cells = [
        [row["case"], *(_both(row, name) for name in NAMES)]
        for row in rows
        if "seconds" in row
    ]
    return results.table(["call on 64 floats", *NAMES], cells)


def models_table(rows: Sequence[Row]) -> str:
    """Times, memory, compile time and errors of models, one line for each engine."""
    header = ["model", "batch", "engine", "step", "over eager", "over Inductor"]
    header += ["peak memory", "cold compile", "error"]
    cells = [
        [
            row["case"],
            row["size"],
            engine,
            _time(row, engine),
            _ratio(row, "eager", engine),
            _ratio(row, "inductor", engine),
            f"{row['peak_bytes'][engine] / 2**30:.2f} GiB",
            _compile(row, engine),
            f"{row['errors'][engine]:.0e}",
        ]
        for row in rows
        for engine in NAMES
        if engine in row.get("seconds", {})
    ]
    return results.table(header, cells)


def summary(rows: Mapping[str, Sequence[Row]]) -> str:
    """Geometric means, and what misses its goal."""
    lines = []
    for part in ("kernels", "models"):
        if rows.get(part):
            lines += _means(part, rows[part])
    lines += _slow_kernels(rows.get("kernels", ()))
    lines += _poor_models(rows.get("models", ()))
    lines += _failures(row for part in rows.values() for row in part)
    return "\n".join(lines)


def _means(part: str, rows: Sequence[Row]) -> Iterable[str]:
    for engine in ("inductor", "girih"):
        for other in ("eager", "inductor"):
            ratios = [r for row in rows if (r := _number(row, other, engine))]
            if ratios and engine != other:
                mean = results.geometric_mean(ratios)
                yield (
                    f"- {part}: {engine} over {other}: geometric mean {mean:.2f}, "
                    f"lowest {min(ratios):.2f}, of {len(ratios)}"
                )


def _slow_kernels(rows: Iterable[Row]) -> Iterable[str]:
    for row in rows:
        share = _number(row, COPY, "girih")
        if row.get("limit") == "memory" and share and share < LEAST_SHARE:
            yield f"- {row['case']}: {share:.2f} of a copy's speed"
        over = _number(row, "inductor", "girih")
        if over and over < 1:
            yield f"- {row['case']}: {over:.2f} of Inductor's speed"


def _poor_models(rows: Iterable[Row]) -> Iterable[str]:
    goals: tuple[tuple[str, Callable[[Row], float | None], float], ...] = (
        ("of eager's speed", lambda row: _number(row, "eager", "girih"), 1.0),
        ("of Inductor's memory", lambda row: _share(row, "peak_bytes"), 1.05),
        ("of Inductor's compile time", lambda row: _share(row, "compile_seconds"), 0.5),
    )
    for row in rows:
        for what, value_of, limit in goals:
            value = value_of(row)
            is_poor = value and (value < limit if "speed" in what else value > limit)
            if is_poor:
                yield f"- {row['case']}: {value:.2f} {what}"


def _failures(rows: Iterable[Row]) -> Iterable[str]:
    for row in rows:
        for engine, reason in row["failures"].items():
            text = " ".join(reason.split())
            yield f"- FAILED: {row['case']}, {engine or 'the case itself'}: {text}"


def _share(row: Row, key: str) -> float | None:
    values = row.get(key, {})
    if not values.get("girih") or not values.get("inductor"):
        return None
    return values["girih"] / values["inductor"]


def _number(row: Row, over: str, engine: str) -> float | None:
    seconds = row.get("seconds", {})
    if over not in seconds or engine not in seconds:
        return None
    return seconds[over] / seconds[engine]


def _ratio(row: Row, over: str, engine: str) -> str:
    value = _number(row, over, engine)
    return "" if value is None else f"{value:.2f}"


def _time(row: Row, engine: str) -> str:
    if engine not in row["seconds"]:
        return "failed" if engine in row["failures"] else ""
    return results.seconds_text(row["seconds"][engine])


def _both(row: Row, engine: str) -> str:
    if engine not in row["seconds"]:
        return _time(row, engine)
    median, least = row["seconds"][engine], row["least_seconds"][engine]
    return f"{median * 1e6:.1f} us ({least * 1e6:.1f})"


def _compile(row: Row, engine: str) -> str:
    seconds = row["compile_seconds"].get(engine)
    if engine == "eager" or seconds is None:
        return ""
    return results.seconds_text(max(seconds, 0.0))
