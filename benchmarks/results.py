"""Rows of results: text tables, geometric means, JSON."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch


def geometric_mean(values: Iterable[float]) -> float:
    """Geometric mean; NaN where there is no value."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def seconds_text(seconds: float) -> str:
    """Seconds with three digits and the fitting unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:#.3g}".rstrip(".") + f" {unit}"
    return f"{seconds * 1e6:.2f} us"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table with aligned columns; numbers stand on the right."""
    cells = [list(map(str, row)) for row in rows]
    numeric = [_is_numeric(column) for column in zip(*cells, strict=True)]
    numeric = numeric or [False] * len(header)
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    rule = [
        "-" * (width - 1) + ":" if right else "-" * width
        for width, right in zip(widths, numeric, strict=True)
    ]
    lines = [_line(header, widths, numeric), _line(rule, widths, numeric)]
    lines += [_line(row, widths, numeric) for row in cells]
    return "\n".join(lines)


def _is_numeric(column: Sequence[str]) -> bool:
    return all(not text or text[0] in "0123456789-" for text in column)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        cell.rjust(width) if is_right else cell.ljust(width)
        for cell, width, is_right in zip(cells, widths, right, strict=True)
    ]
    return f"| {' | '.join(parts)} |"


def environment() -> dict[str, object]:
    """What the numbers depend on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def write(
    stem: Path, rows: Sequence[object], text: str, extra: Mapping[str, object] = {}
) -> None:
    """Writes STEM.json, with the environment and more of it, the table as STEM.md."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    content = {"environment": {**environment(), **extra}, "rows": list(rows)}
    stem.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    stem.with_suffix(".md").write_text(text + "\n")
