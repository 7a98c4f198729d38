"""The words of messages and documents: the field's, or words that the glossary has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from girih.tools import messages

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]

# Words that once meant things in girih which no reader could know.
COINED = (
    *("door", "house", "net", "piece", "place", "program", "room"),
    *("answers as before", "as it was", "as they were", "been told", "come to be"),
    *("for itself", "is told", "runs as it was", "was told", "what it had"),
)


def coined(text: str) -> set[str]:
    """The coined words of a text, also in the plural, that are not code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(
        r"`[^`]*`|\{[^}]*\}|\]\([^)]*\)|<!--.*?-->", " ", text, flags=re.DOTALL
    )
    words = " ".join(text.lower().split())
    return {word for word in COINED if re.search(rf"\b{word}s?\b", words)}


def explained() -> set[str]:
    """The words that have a row of the glossary."""
    rows = re.findall(r"^\| ([^|]+) \|", GLOSSARY.read_text(), flags=re.MULTILINE)
    return {word.strip() for row in rows for word in row.split(",")}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_words_of_a_page_are_known(path):
    assert coined(path.read_text()) - explained() == set()


def test_words_of_messages_are_known():
    known = explained()
    found = [m for m in messages.messages() if coined(m.text) - known]
    assert found == [], "\n".join(map(str, found))


def test_coined_words_are_found():
    assert coined("Both doors,\nand what it\nhad: `room`.") == {"door", "what it had"}
    assert coined("```\na net\n```\nnetwork, [it](net.md)") == set()


def test_a_word_has_one_row_and_a_meaning():
    rows = re.findall(r"^\| (.*) \| (.*) \|$", GLOSSARY.read_text(), flags=re.MULTILINE)
    words = [word for word, _ in rows if word != "word"]
    assert len(set(words)) == len(words) > 40
    assert all(meaning.strip() for _, meaning in rows)
