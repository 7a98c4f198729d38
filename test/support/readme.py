"""The code blocks of README.md, so that tests can run them."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent.parent / "README.md"


def section(title: str) -> str:
    """The text of a section, without its heading.

    Raises:
        LookupError: There is none with this title.
    """
    parts = re.split(r"^## (.*)$", README.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if title not in sections:
        raise LookupError(f"README.md has no section {title!r}: {list(sections)}")
    return sections[title]


def blocks(title: str, language: str) -> list[str]:
    """The code blocks of one language in a section."""
    return re.findall(rf"```{language}\n(.*?)```", section(title), flags=re.DOTALL)


def python_blocks(title: str) -> str:
    """The Python of a section, as one program."""
    return "\n".join(blocks(title, "python"))
