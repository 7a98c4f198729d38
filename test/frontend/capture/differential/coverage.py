"""Which programs were captured in one graph."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

OUTCOMES = {True: "one graph", False: "not in one graph", None: "other"}
captured: dict[str, Counter] = {}
_TABLE = Path(__file__).parent / "not_in_one_graph.txt"


def note(family: str, is_whole: bool | None) -> None:
    """Notes how a program of a family was captured."""
    captured.setdefault(family, Counter())[OUTCOMES[is_whole]] += 1


def lines() -> list[str]:
    """The summary."""
    total = sum(captured.values(), Counter())
    return [
        f"{family:32} "
        + ", ".join(f"{counts[name]:3} {name}" for name in OUTCOMES.values())
        for family, counts in [*sorted(captured.items()), ("all", total)]
    ]


def not_in_one_graph() -> set[str]:
    """Programs that need not be captured in one graph (yet)."""
    return set(_TABLE.read_text().split()) if _TABLE.exists() else set()


def write(names: set[str]) -> None:
    """Writes the table of those programs."""
    _TABLE.write_text("".join(f"{name}\n" for name in sorted(names)))
