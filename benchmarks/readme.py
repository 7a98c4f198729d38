"""Puts the tables that ``make bench`` wrote into docs/benchmarks.md.

``python -m benchmarks.readme [FOLDER]`` replaces what stands between the comments
``<!-- NAME -->`` and ``<!-- end of NAME -->`` by FOLDER/NAME.md (build/benchmarks), and
copies the plot to docs.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def with_tables(text: str, folder: Path) -> str:
    """The text with the tables of all benchmarks that have been run."""
    for file in sorted(folder.glob("*.md")):
        start, end = f"<!-- {file.stem} -->", f"<!-- end of {file.stem} -->"
        pattern = re.escape(start) + ".*?" + re.escape(end)
        block = f"{start}\n{file.read_text()}{end}"
        text = re.sub(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
    return text


def main(arguments: list[str]) -> int:
    """Rewrites docs/benchmarks.md; returns the exit code."""
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "benchmarks"
    page = ROOT / "docs" / "benchmarks.md"
    page.write_text(with_tables(page.read_text(), folder))
    plot = folder / "kernels.svg"
    if plot.exists():
        shutil.copy(plot, ROOT / "docs" / "kernels.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
