"""Tables of decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import results

_MIB = 2**20


def text_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """What workers found, as a Markdown table, one line a model and engine."""
    header = [
        *("model", "batch", "dtype", "engine", "token", "tokens/s", "over eager"),
        *("over Inductor", "of bandwidth", "first", "second", "peak memory"),
        "difference",
    ]
    return results.table(header, [cells for row in rows for cells in _lines(row)])


def _lines(row: Mapping[str, Any]) -> list[list[object]]:
    case, token = row["case"], row["token"]
    read = row["weight_bytes"] + row["cache_bytes"]
    rivals = [token[name] for name in token if name.startswith("inductor")]
    lines = []
    for engine, seconds in token.items():
        lines.append(
            [
                *(case["model"], case["batch"], case["dtype"], engine),
                results.seconds_text(seconds),
                f"{case['batch'] / seconds:.0f}",
                f"{token['eager'] / seconds:.2f}" if "eager" in token else "",
                f"{min(rivals) / seconds:.2f}" if rivals else "",
                f"{read / seconds / row['bandwidth']:.0%}",
                results.seconds_text(row["first"][engine]),
                results.seconds_text(row["second"][engine]),
                f"{row['peak'][engine] / _MIB:.1f} MiB",
                f"{row['difference'][engine]:.0e}",
            ]
        )
    return lines


def short_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The times of a token, as a Markdown table, one line a model."""
    engines = list(dict.fromkeys(name for row in rows for name in row["token"]))
    header = ["model", "batch", "dtype", *engines, "over eager", "of bandwidth"]
    cells = []
    for row in rows:
        case, token, ours = row["case"], row["token"], _least(row, "girih")
        read = row["weight_bytes"] + row["cache_bytes"]
        times = [results.seconds_text(token[e]) if e in token else "" for e in engines]
        cells.append(
            [
                *(case["model"], case["batch"], case["dtype"], *times),
                f"{token['eager'] / ours:.2f}" if ours and "eager" in token else "",
                f"{read / ours / row['bandwidth']:.0%}" if ours else "",
            ]
        )
    return results.table(header, cells)


def ratios(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many times faster girih's fastest engine is, over all rows, as lines."""
    lines = []
    for rival in ("eager", "inductor"):
        found = {}
        for row in rows:
            ours, theirs = _least(row, "girih"), _least(row, rival)
            if ours and theirs:
                case = row["case"]
                name = f"{case['model']}, batch {case['batch']}, {case['dtype']}"
                found[name] = theirs / ours
        if found:
            lowest = min(found, key=found.__getitem__)
            lines.append(
                f"- girih over {rival}: geometric mean "
                f"{results.geometric_mean(found.values()):.2f}, lowest "
                f"{found[lowest]:.2f} ({lowest}), of {len(found)}"
            )
    return "\n".join(lines)


def _least(row: Mapping[str, Any], compiler: str) -> float | None:
    seconds = [s for name, s in row["token"].items() if name.startswith(compiler)]
    return min(seconds, default=None)


def profile_table(row: Mapping[str, Any]) -> str:
    """The kernels of one decoding step, each beside the time that its bytes take.

    Calls of one kernel from the same lines, as layers make them, are one row.
    """
    header = ["kernel", "calls", "time", "byte limit", "of copy", "lines"]
    cells = []
    for one in _merged(row["profile"]):
        limit = one["limit"]
        cells.append(
            [
                one["kernel"],
                f"{one['calls']:.0f}",
                results.seconds_text(one["seconds"]),
                "" if limit is None else results.seconds_text(limit),
                "" if not limit else f"{limit / one['seconds']:.0%}",
                one["lines"],
            ]
        )
    case = row["case"]
    title = f"{case['model']}, batch {case['batch']}, {case['dtype']}: a decoding step"
    return f"{title}\n\n{results.table(header, cells)}"


def _merged(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("kernel", "lines", "bytes", "calls"))
        if key in found:
            for name in ("calls", "seconds"):
                found[key][name] += row[name]
            if row["limit"] is not None:
                found[key]["limit"] += row["limit"]
        else:
            found[key] = dict(row)
    return sorted(found.values(), key=lambda row: -row["seconds"])
