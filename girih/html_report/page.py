"""The page: ``written`` makes its text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from girih.html_report import overview, programs
from girih.html_report.captures import breaks_of, captures_of
from girih.html_report.markup import Markup, counted, element, text_of
from girih.html_report.places import Places
from girih.reports import Reports

_FOLDER = Path(__file__).parent
_LOADS_NOTHING = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)


def written(reports: Reports, dispatcher: Any, title: str) -> str:
    """The page's text.

    Args:
        reports: What the page is about.
        dispatcher: Of the compiled function, as ``dispatcher_of`` returns it; None
            where girih did not capture, so that breaks and guards are not known.
        title: The name of the function.
    """
    places = Places()
    captures = captures_of(dispatcher) if dispatcher is not None else []
    found = [report for graph in reports.graphs for report in graph.and_derived()]
    named = [(f"program{number}", report) for number, report in enumerate(found)]
    breaks = breaks_of(captures)
    parts = {
        "Breaks": overview.breaks(breaks, places),
        "Fallbacks": overview.fallbacks(reports.fallbacks, places),
        "Captured parts": overview.captured(captures, places),
    }
    compiled = [programs.section(anchor, report, places) for anchor, report in named]
    contents = {"overview": "Overview"}
    contents |= {_anchor(name): name for name, shown in parts.items() if shown}
    contents |= {anchor: report.name for anchor, report in named}
    body = [
        element("h1", title),
        element("h2", "Overview", id="overview"),
        element("p", _summary(reports, len(breaks))),
        [element("p", note, class_="note") for note in reports.notes],
        overview.programs(named),
        [_section(name, shown) for name, shown in parts.items() if shown],
        compiled,
    ]
    if sources := places.shown():
        contents |= {"lines": "Lines of the program"}
        body.append(_section("Lines of the program", sources, "lines"))
    return _document(title, contents, body)


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _section(name: str, shown: Iterable[Markup], anchor: str = "") -> Markup:
    heading = element("h2", name, id=anchor or _anchor(name))
    return element("section", heading, shown)


def _summary(reports: Reports, breaks: int) -> str:
    if not reports.graphs:
        return str(reports)
    parts = [
        counted(len(reports.graphs), "graph"),
        counted(breaks, "break"),
        counted(len(reports.fallbacks), "fallback"),
        counted(reports.kernels, "kernel"),
        f"compiled in {1e3 * _all_seconds(reports):.1f} ms without capture",
    ]
    return "; ".join(parts)


def _all_seconds(reports: Reports) -> float:
    derived = (report for graph in reports.graphs for report in graph.and_derived())
    return sum(report.compile_seconds for report in derived)


def _document(title: str, contents: dict[str, str], body: list) -> str:
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(
            f'<meta http-equiv="Content-Security-Policy" content="{_LOADS_NOTHING}">'
        ),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        element("title", f"girih: {title}"),
        element("style", _file("page.css")),
    )
    links = [
        element("li", element("a", name, href=f"#{anchor}"))
        for anchor, name in contents.items()
    ]
    search = [
        element("label", "Filter ", for_="filter"),
        Markup('<input id="filter" type="search" autocomplete="off">'),
        element("span", id="found", role="status"),
    ]
    page = [
        element("a", "To the content", href="#content", class_="skip"),
        element("header", element("div", search, role="search")),
        element("nav", element("ul", links), aria_label="Contents"),
        element("main", body, id="content", tabindex=-1),
        element("script", _file("page.js")),
    ]
    made = element("html", head, element("body", page), lang="en")
    return f"<!DOCTYPE html>\n{text_of(made)}\n"


def _file(name: str) -> Markup:
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))
