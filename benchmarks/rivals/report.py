"""The table of networks and engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import results
from benchmarks.rivals.engines import ENGINES

Key = tuple[str, int, str, int]
OURS = tuple(name for name in ENGINES if name.startswith("girih"))
OTHERS = tuple(name for name in ENGINES if name not in OURS)


def by_case(rows: Sequence[Mapping]) -> dict[Key, dict[str, Mapping]]:
    """Rows by network, batch, dtype and threads, then by engine.

    Where an engine was measured twice, the better median counts.
    """
    found: dict[Key, dict[str, Mapping]] = {}
    for row in rows:
        key = row["network"], row["batch"], row["dtype"], row["threads"]
        engines = found.setdefault(key, {})
        known = engines.get(row["engine"])
        if known is None or row["median"] < known["median"]:
            engines[row["engine"]] = row
    return found


def over_best(engines: Mapping[str, Mapping], ours: str) -> float | None:
    """How many times faster one of ours is than the best other; None if unknown."""
    others = [engines[name]["median"] for name in OTHERS if name in engines]
    return min(others) / engines[ours]["median"] if others and ours in engines else None


def text_of(rows: Sequence[Mapping], failures: Sequence[str] = ()) -> str:
    """A line for each network, the geometric means, and what failed."""
    header = ["network", "batch", "dtype", "threads", *ENGINES]
    header += [f"{name} / best other" for name in OURS]
    cells, ratios = [], {name: [] for name in OURS}
    for key, engines in by_case(rows).items():
        times = [
            results.seconds_text(engines[name]["median"]) if name in engines else ""
            for name in ENGINES
        ]
        found = {name: over_best(engines, name) for name in OURS}
        for name, ratio in found.items():
            ratios[name] += [] if ratio is None else [ratio]
        shown = ["" if ratio is None else f"{ratio:.2f}" for ratio in found.values()]
        cells.append([*key, *times, *shown])
    lines = [
        f"- {name} over the best other: geometric mean "
        f"{results.geometric_mean(values):.2f}, lowest {min(values):.2f}, "
        f"of {len(values)}"
        for name, values in ratios.items()
        if values
    ]
    lines += [f"- FAILED: {text}" for text in failures]
    return "\n\n".join([results.table(header, cells), "\n".join(lines)])
