"""Which programs were captured in one graph, and in how many the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

OUTCOMES = {True: "one graph", False: "not in one graph", None: "other"}
captured: dict[str, Counter] = {}
broken: list[tuple[int, int]] = []
_TABLE = Path(__file__).parent / "graphs.txt"


def note(family: str, is_whole: bool | None) -> None:
    """Notes how a program of a family was captured."""
    captured.setdefault(family, Counter())[OUTCOMES[is_whole]] += 1


def note_graphs(found: tuple[int, int]) -> None:
    """Notes graphs and operations of a program that is in no one graph."""
    broken.append(found)


def lines() -> list[str]:
    """The summary."""
    total = sum(captured.values(), Counter())
    graphs = [count for count, _ in broken if count]
    return [
        f"{family:32} "
        + ", ".join(f"{counts[name]:3} {name}" for name in OUTCOMES.values())
        for family, counts in [*sorted(captured.items()), ("all", total)]
    ] + [
        f"not in one graph: {len(graphs)} with breaks, in {sum(graphs)} graphs; "
        f"{len(broken) - len(graphs)} without a graph"
    ]


def graphs() -> dict[str, tuple[int, ...]]:
    """Graphs and operations of the programs that are in no one graph (yet)."""
    if not _TABLE.exists():
        return {}
    rows = (line.split() for line in _TABLE.read_text().splitlines())
    return {name: tuple(map(int, counts)) for name, *counts in rows}


def write_graphs(counts: dict[str, tuple[int, ...]]) -> None:
    """Writes the table of their graphs."""
    rows = (f"{name} {' '.join(map(str, counts[name]))}\n" for name in sorted(counts))
    _TABLE.write_text("".join(rows))
