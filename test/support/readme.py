"""The code blocks of pages, so that tests can run them."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent.parent / "README.md"


def section(title: str, page: Path = README) -> str:
    """The text of a section of a page, without its heading.

    Raises:
        LookupError: There is none with this title.
    """
    parts = re.split(r"^##? (.*)$", page.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if title not in sections:
        raise LookupError(f"{page.name} has no section {title!r}: {list(sections)}")
    return sections[title]


def blocks(title: str, language: str, page: Path = README) -> list[str]:
    """The code blocks of one language in a section."""
    text = section(title, page)
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def python_blocks(title: str) -> str:
    """The Python of a section, as one program."""
    return "\n".join(blocks(title, "python"))
