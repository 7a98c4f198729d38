"""Command-line options and the progress line that all benchmarks share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sized
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")


def parser(description: str) -> argparse.ArgumentParser:
    """A parser with the options of every benchmark."""
    result = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    result.add_argument(
        "--quick", action="store_true", help="fewer rounds: noisy, but soon done"
    )
    result.add_argument(
        "--output",
        type=Path,
        metavar="STEM",
        help="write STEM.json, STEM.md and, where there is a plot, STEM.svg",
    )
    result.add_argument(
        "--threads", type=int, help="threads that PyTorch uses; default: its choice"
    )
    return result


def names(text: str) -> list[str]:
    """Parses a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def progress(items: Iterable[Item], describe) -> Iterator[Item]:
    """Yields the items and shows on stderr which one is at work."""
    total = len(items) if isinstance(items, Sized) else 0
    is_terminal = sys.stderr.isatty()
    start, end = ("\r\x1b[K", "") if is_terminal else ("", "\n")
    for number, item in enumerate(items, 1):
        text = f"[{number}/{total}] {describe(item)}"
        print(f"{start}{text}", end=end, file=sys.stderr, flush=True)
        yield item
    if is_terminal:
        print(start, end="", file=sys.stderr, flush=True)
