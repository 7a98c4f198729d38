"""README and docs: sizes, links, reachability, and lengths of lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from girih.tools import reference

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def _name(path: Path) -> str:
    """A page's name below docs; README's is the file's."""
    return path.relative_to(ROOT if path == README else ROOT / "docs").as_posix()


PAGES = [README, *sorted((ROOT / "docs").glob("**/*.md"))]
LONGEST_PAGE, LONGEST_LINE = 12_288, 88
# Generated tables, and what is still to be cut; a page that fits has to leave the list.
LONG = {
    *("benchmarks.md", "reference/ops.md", "reference/passes.md"),
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


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_a_page_is_short(path):
    is_long = len(path.read_bytes()) > LONGEST_PAGE
    assert is_long == (_name(path) in LONG)


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_lines_of_prose_are_short(path):
    wide = [line for line in prose(path.read_text()) if len(line) > LONGEST_LINE]
    assert bool(wide) == (_name(path) in WIDE), wide[:3]


@pytest.mark.parametrize("path", PAGES, ids=_name)
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


def test_documents_name_the_targets_of_the_makefile():
    rules = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):.*## ", rules, flags=re.MULTILINE))
    texts = [path.read_text() for path in [*PAGES, ROOT / "CHANGELOG.md"]]
    pattern = re.compile(r"(?:`|^)make\s([a-z-]+)", flags=re.MULTILINE)
    assert {name for text in texts for name in pattern.findall(text)} == targets


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_generated_page_is_that_of_the_code(name):
    page = reference.FOLDER / name
    assert page.read_text() == reference.PAGES[name](), "run `make reference`"


def test_every_page_of_reference_is_made():
    found = (reference.FOLDER / "reference").iterdir()
    made = {name for name in reference.PAGES if name.startswith("reference/")}
    assert {f"reference/{path.name}" for path in found} == made


def test_the_pictures_are_those_of_the_data():
    from benchmarks import pictures

    assert (ROOT / "docs" / "way.svg").read_text() == pictures.way()
