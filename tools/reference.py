"""The pages of docs/reference, written from the code that they describe.

``python -m girih.tools.reference`` writes all of them. A test compares each page with
the code.
"""

from __future__ import annotations

import sys
from pathlib import Path

from girih.tools import op_tables

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"

PAGES = {
    "ops.md": op_tables.page,
}
"""By the name of each page the function that returns the page's text."""


def main() -> int:
    """Writes the pages; returns the exit code."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
