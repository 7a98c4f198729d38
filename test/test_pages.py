"""README and docs: sizes, links, reachability, and lengths of lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("**/*.md"))]
LONGEST_PAGE, LONGEST_LINE = 12_288, 88
# Generated tables, and what is still to be cut; a page that fits has to leave the list.
LONG = {
    *("benchmarks.md", "breadth.md", "reference-ops.md"),
    "architecture.md",
}
WIDE: frozenset[str] = frozenset()
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_SOURCE = re.compile(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.(?:py|c|h))`")


def prose(text: str) -> list[str]:
    """The lines that are no code, no table and no comment of HTML."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [x for x in text.splitlines() if not x.startswith(("|", "<!--"))]


def links(path: Path) -> list[str]:
    """The targets of a page's links within the project."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [link for link in _LINK.findall(text) if "://" not in link]


def heading_names(path: Path) -> set[str]:
    """The names that links into a page may end in."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_short(path):
    assert (len(path.read_bytes()) > LONGEST_PAGE) == (path.name in LONG)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_lines_of_prose_are_short(path):
    wide = [line for line in prose(path.read_text()) if len(line) > LONGEST_LINE]
    assert bool(wide) == (path.name in WIDE), wide[:3]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for link in links(path):
        name, _, heading = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert not heading or heading in heading_names(target), link


@pytest.fixture(scope="module")
def sources() -> list[str]:
    """The source files of the project, with a slash in front."""
    folders = (path for path in ROOT.iterdir() if (path / "ruff.toml").exists())
    found = [*folders, ROOT / "test", ROOT / "benchmarks", ROOT / "examples"]
    files = (file for folder in found for file in folder.rglob("*.[pch]*"))
    return [f"/{file.relative_to(ROOT)}" for file in files]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_files_that_a_page_names_exist(path, sources):
    named = _SOURCE.findall(path.read_text())
    assert [x for x in named if not any(s.endswith(f"/{x}") for s in sources)] == []


def test_every_page_is_reached_from_the_index():
    index = ROOT / "docs" / "index.md"
    found, todo = set(), [README, index]
    while todo:
        path = todo.pop()
        if path in found or path.suffix != ".md":
            continue
        found.add(path)
        todo += [(path.parent / x.partition("#")[0]).resolve() for x in links(path)]
    assert set(PAGES) <= found
    direct = {(index.parent / link).resolve() for link in links(index)}
    assert set(PAGES) - {README, index} <= direct


def test_the_table_of_ops_is_that_of_the_code():
    from girih.tools import op_tables

    assert op_tables.PAGE.read_text() == op_tables.page()


def test_the_pictures_are_those_of_the_data():
    from benchmarks import pictures

    assert (ROOT / "docs" / "way.svg").read_text() == pictures.way()
