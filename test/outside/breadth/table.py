"""Measurements as lines for a terminal and as a page of the documentation."""

from __future__ import annotations

import platform
import re
import statistics
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any, NamedTuple

from breadth.measure import PARTS
from breadth.run import BAD, LIBRARIES, Row

ABOUT = """# Breadth

Written by `make breadth`; don't edit. Models of public libraries, tiny or the
smallest of their family, with random weights, compiled by girih and compared with
eager on {device}.

* *forward*: results in float32, relative to the largest element; right below 1e-4, or
  below what eager differs from itself with two threads.
* *training*: a step in float64: loss, every gradient, every buffer; right below 1e-9
  (1e-4 where the model itself computes in float32 on the way, or four times what
  eager's step moves by when each float moves by a unit in its last place).
* *training32*: a step in float32 is about as near to the gradients in float64 as
  eager's.
* *dynamic*, *dynamic-training*: the same with `dynamic=True` over several batch sizes
  and lengths.
* *whole*: the model is one graph (`fullgraph=True` holds).
* *eager*: a graph of it ran as eager; girih said so.
* *times*: medians of alternating calls in one process, with the first of the sizes in
  float32: of *forward*, and of a step of *training32*.
"""

SLOWER = 1.05
"""Times eager's median: what takes longer is slower. Less is noise."""


def line(row: Row) -> str:
    """A row for the terminal."""
    if row.skipped:
        return f"{row.name}: skipped: {row.skipped}"
    parts = [f"{part} {_cell(record)}" for part, record in row.parts.items()]
    reasons = [
        f"\n    {part}: {record['why']}"
        for part, record in row.parts.items()
        if "why" in record
    ]
    notes = [f"\n    {note}" for note in _notes(row)]
    output = f"\n{row.output}" if row.output else ""
    head = f"{row.name}: {'; '.join(parts)}; {row.seconds:.0f} s"
    return head + "".join(reasons) + "".join(notes) + output


def page(rows: Sequence[Row], missing: dict[str, str], device: str, listed: int) -> str:
    """The page in docs: totals, a row for what is not right, names of the rest.

    Args:
        rows: What was measured.
        missing: Libraries that could not be imported, with the reason.
        device: Of the models.
        listed: How many models there are.
    """
    sections = [ABOUT.format(device=device), _run(rows, listed), _totals(rows)]
    sections += [_bad(rows), _slower(rows), _reasons(rows), _skipped(rows, missing)]
    sections += [right(rows)]
    return "\n".join(section for section in sections if section)


def _wrapped(text: str, indent: str = "") -> str:
    """A paragraph of the page; names of models stay whole."""
    return textwrap.fill(
        text,
        88,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def summary(rows: Sequence[Row]) -> str:
    """Totals for the terminal."""
    measured = [row for row in rows if not row.skipped]
    lines = []
    for part in PARTS:
        verdicts = [r.parts[part]["verdict"] for r in measured if part in r.parts]
        asked = [verdict for verdict in verdicts if verdict != "skipped"]
        lines.append(f"{part}: {asked.count('right')} of {len(asked)} right")
    whole = sum(_forward(row).get("fullgraph", False) for row in measured)
    eager = [row.name for row in measured if _ran_eager(row)]
    lines += [f"one graph: {whole} of {len(measured)}", f"ran eager: {len(eager)}"]
    lines += [f"skipped: {len(rows) - len(measured)}"]
    bad = [row.name for row in measured if not row.is_right]
    lines += [f"not right: {', '.join(bad) or 'none'}", f"times: {_all_times(rows)}"]
    lines += [
        f"    {pair.ratio:.2f} of eager: {pair.model}, {pair.part}: "
        f"{_milliseconds(pair.girih)}, eager {_milliseconds(pair.eager)}"
        for pair in _slow_ones(rows)
    ]
    return "\n".join(lines)


class Times(NamedTuple):
    """Median seconds of one part of a model."""

    model: str
    part: str
    eager: float
    girih: float

    @property
    def ratio(self) -> float:
        """girih over eager."""
        return self.girih / self.eager


def _times(rows: Sequence[Row]) -> list[Times]:
    """All that were taken of what is right: what is wrong needs no time."""
    return [
        Times(row.name, part, **record["times"])
        for row in rows
        for part, record in row.parts.items()
        if "times" in record and record["verdict"] == "right"
    ]


def _slow_ones(rows: Sequence[Row]) -> list[Times]:
    """Those in which girih is slower than eager, the worst first."""
    slow = [pair for pair in _times(rows) if pair.ratio > SLOWER]
    return sorted(slow, key=lambda pair: -pair.ratio)


def _all_times(rows: Sequence[Row]) -> str:
    """How many are slower, and the mean over all."""
    ratios = [pair.ratio for pair in _times(rows)]
    if not ratios:
        return "none were taken"
    slow = len(_slow_ones(rows))
    mean = statistics.geometric_mean(ratios)
    return (
        f"{slow} of {len(ratios)} take more than {SLOWER} of eager's time; "
        f"geometric mean of all: {mean:.2f}"
    )


def _slower(rows: Sequence[Row]) -> str:
    lines = [
        [
            pair.model,
            pair.part,
            _milliseconds(pair.eager),
            _milliseconds(pair.girih),
            f"{pair.ratio:.2f}",
        ]
        for pair in _slow_ones(rows)
    ]
    head = ["model", "part", "eager", "girih", "girih over eager"]
    found = "\n" + _table(head, lines) if lines else ""
    told = _wrapped(f"Of the times, {_all_times(rows)}.")
    return f"## Slower than eager\n\n{told}\n{found}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _cell(record: dict[str, Any]) -> str:
    if record["verdict"] in BAD and "error" not in record:
        return record["verdict"]
    if record["verdict"] == "skipped":
        return "–"
    error = record["error"]
    worst = max(error.values()) if isinstance(error, dict) else error
    return f"{worst:.0e}" + (" **wrong**" if record["verdict"] == "wrong" else "")


def _notes(row: Row) -> list[str]:
    notes = []
    if "break" in _forward(row):
        notes.append(f"not one graph: {_forward(row)['break']}")
    notes += [f"eager: {reason}" for reason in _eager_reasons(row)]
    said = [text for record in row.parts.values() for text in record.get("said", ())]
    return notes + [f"said: {text}" for text in dict.fromkeys(said)]


def _forward(row: Row) -> dict[str, Any]:
    return row.parts.get("forward", {})


def _eager_reasons(row: Row) -> list[str]:
    reasons = [r for record in row.parts.values() for r in record.get("eager", ())]
    return list(dict.fromkeys(reasons))


def _ran_eager(row: Row) -> bool:
    return bool(_eager_reasons(row))


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _run(rows: Sequence[Row], listed: int) -> str:
    """What was run, of what."""
    versions = [f"Python {platform.python_version()}"]
    for package in ("torch", *(name for name in LIBRARIES if name != "torch")):
        package = {"geometric": "torch_geometric"}.get(package, package)
        with suppress(metadata.PackageNotFoundError):
            versions.append(f"{package} {metadata.version(package)}")
    commits = Counter(row.commit for row in rows if row.commit)
    of_each = ", ".join(f"{commit} ({count})" for commit, count in commits.items())
    told = (
        f"{len(rows)} of {listed} models were run, with {', '.join(versions)}, on "
        f"{platform.machine()}; girih's commits, and how many models each: "
        f"{of_each or 'unknown'}."
    )
    return _wrapped(told) + "\n"


def _reasons(rows: Sequence[Row]) -> str:
    """Why something ran eager, each told by girih, with the number of models."""
    models: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for record in row.parts.values():
            told = [text for text in record.get("said", ()) if " eager: " in text]
            for text in told + [f" eager: {why}" for why in record.get("eager", ())]:
                models[_kind(text.partition(" eager: ")[2])].add(row.name)
    if not models:
        return "Nothing ran eager.\n"
    ordered = sorted(models.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [(why, str(len(names)), _some(names)) for why, names in ordered]
    return "## What ran eager\n\n" + _table(["reason", "models", "such as"], lines)


def _kind(reason: str) -> str:
    """A reason without its context, which differs from model to model."""
    return re.split(r"[:(|]", reason, maxsplit=1)[0].strip()


def _some(names: Iterable[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:4]) + (", ..." if len(shown) > 4 else "")


def _totals(rows: Sequence[Row]) -> str:
    lines = []
    for library in LIBRARIES:
        own = _of(library, rows)
        if own:
            counts = [_count(own, part) for part in PARTS]
            whole = sum(_forward(row).get("fullgraph", False) for row in own)
            eager = sum(map(_ran_eager, own))
            lines.append([library, str(len(own)), *counts, str(whole), str(eager)])
    return _table(["library", "models", *PARTS, "whole", "eager"], lines)


def _of(library: str, rows: Sequence[Row]) -> list[Row]:
    own = [row for row in rows if row.name.startswith(f"{library}/")]
    return sorted((row for row in own if not row.skipped), key=lambda row: row.name)


def _count(rows: Sequence[Row], part: str) -> str:
    verdicts = [row.parts[part]["verdict"] for row in rows if part in row.parts]
    asked = [verdict for verdict in verdicts if verdict != "skipped"]
    return f"{asked.count('right')}/{len(asked)}"


def _bad(rows: Sequence[Row]) -> str:
    bad = [row for row in rows if not row.is_right]
    if not bad:
        return "Nothing differs, fails or crashes.\n"
    head = ["model", *PARTS, "whole", "eager"]
    table = _table(head, map(_cells, bad))
    lines = [
        _wrapped(f"* `{row.name}`, {part}: {record['verdict']}: {record['why']}", "  ")
        for row in bad
        for part, record in row.parts.items()
        if record["verdict"] in BAD and "why" in record
    ]
    reasons = "\n" + "\n".join(lines) + "\n" if lines else ""
    return f"## Not right\n\n{table}{reasons}"


def _cells(row: Row) -> list[str]:
    """A row of the table; a part that was not measured is empty."""
    parts = [_cell(row.parts[part]) if part in row.parts else "" for part in PARTS]
    whole = {True: "yes", False: "no"}.get(_forward(row).get("fullgraph"), "")
    return [row.name, *parts, whole, "yes" if _ran_eager(row) else ""]


def _skipped(rows: Sequence[Row], missing: dict[str, str]) -> str:
    lines = [
        _wrapped(f"* `{row.name}`: {row.skipped}", "  ") for row in rows if row.skipped
    ]
    lines += [
        _wrapped(f"* {library} was not installed: {why}", "  ")
        for library, why in missing.items()
    ]
    return "## Skipped\n\n" + "\n".join(lines) + "\n" if lines else ""


def right(rows: Sequence[Row]) -> str:
    """Names of models with which nothing is wrong, by library and kind of graph."""
    lines = []
    for library in LIBRARIES:
        names: dict[str, list[str]] = defaultdict(list)
        for row in _of(library, rows):
            if row.is_right:
                names[_kind_of_graphs(row)].append(row.name.partition("/")[2])
        lines += [
            _wrapped(f"* **{library}**, {kind}: {', '.join(found)}", "  ")
            for kind, found in sorted(names.items())
        ]
    return "\n".join(["## Nothing wrong", "", *lines, ""]) if lines else ""


def _kind_of_graphs(row: Row) -> str:
    """What a list of names begins with; where eager fails, nothing was compared."""
    if all(part["verdict"] == "skipped" for part in row.parts.values()):
        return "not compared, because eager fails or varies"
    if _ran_eager(row):
        return "right, but a graph ran eager"
    graphs = {True: "one graph", False: "several graphs"}
    return f"right, {graphs.get(_forward(row).get('fullgraph'), 'training only')}"
