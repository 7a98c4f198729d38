"""The page's overview: programs, breaks, fallbacks, captured parts, guards."""

from __future__ import annotations

from collections.abc import Sequence

from girih.errors import UnsupportedError
from girih.fallbacks import Fallback
from girih.html_report.captures import Captured
from girih.html_report.markup import (
    Markup,
    counted,
    element,
    folded,
    milliseconds,
    table,
)
from girih.html_report.places import Places
from girih.reports import Report

_TITLES = (
    "program",
    "#kernels",
    "#launches",
    "#ATen calls",
    "#workspace, bytes",
    "code",
    "#ms",
    "of which",
)


def programs(reports: Sequence[tuple[str, Report]]) -> Markup:
    """A table with a row for each compiled program.

    Args:
        reports: Each with the id of its section.
    """
    return table(_TITLES, (_row(anchor, report) for anchor, report in reports))


def _row(anchor: str, report: Report) -> list:
    stages = ", ".join(
        f"{name} {milliseconds(spent)}" for name, spent in report.stage_seconds.items()
    )
    symbolic = "symbolic" if report.workspace_bytes is None else report.workspace_bytes
    made_by = report.backend or report.cache
    return [
        element("a", report.name, href=f"#{anchor}"),
        report.kernels,
        report.launches,
        report.externs,
        symbolic,
        "eager" if report.fallback is not None else made_by,
        milliseconds(report.compile_seconds),
        stages,
    ]


def breaks(
    found: Sequence[tuple[Captured, UnsupportedError]], places: Places
) -> list[Markup]:
    """Each graph break, with the user's line and what would avoid it."""
    return [
        _break(f"break{number}", captured, error, places)
        for number, (captured, error) in enumerate(found)
    ]


def _break(
    anchor: str, captured: Captured, error: UnsupportedError, places: Places
) -> Markup:
    where = error.location
    link = where and places.link(where.filename, where.line, anchor, error.kind)
    hints = [element("li", hint) for hint in error.hints]
    return element(
        "div",
        element("h3", error.kind, " at " if link else "", link, id=anchor),
        element("p", f"in {captured.function}: {error.explanation}"),
        element("pre", where.excerpt()) if where else None,
        element("ul", hints) if hints else None,
        class_="item",
    )


def fallbacks(found: Sequence[Fallback], places: Places) -> list[Markup]:
    """What runs eager although it was to be compiled."""
    return [
        _fallback(f"fallback{number}", fallback, places)
        for number, fallback in enumerate(found)
    ]


def _fallback(anchor: str, fallback: Fallback, places: Places) -> Markup:
    where = fallback.location
    link = where and places.link(where.filename, where.line, anchor, fallback.kind)
    return element(
        "div",
        element("h3", fallback.kind, " at " if link else "", link, id=anchor),
        element("p", str(fallback)),
        folded("the whole message", element("pre", fallback.text)),
        class_="item",
    )


def captured(found: Sequence[Captured], places: Places) -> list[Markup]:
    """What was captured, in order: graphs and guards."""
    return [_part(f"part{i}", part, places) for i, part in enumerate(found)]


def _part(anchor: str, part: Captured, places: Places) -> Markup:
    title = f"{part.function}, after a break" if part.goes_on else part.function
    link = places.link(part.file, part.line, anchor, part.function)
    end = None if part.broken is None else element("p", f"ends: {part.broken.kind}")
    guards = "\n".join(part.guards)
    graph = element("pre", part.graph, tabindex=0)
    return element(
        "div",
        element("h3", title, " ", link, id=anchor),
        end,
        folded(counted(part.operations, "operation"), graph) if part.graph else None,
        folded(counted(len(part.guards), "guard"), element("pre", guards, tabindex=0)),
        class_="item",
    )
