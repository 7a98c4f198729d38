"""HTML as text: whatever is no ``Markup`` is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text_of(child: Any) -> Markup:
    """A child of an element as HTML.

    Args:
        child: HTML, a text or number, an iterable of children, or None for nothing.
    """
    if isinstance(child, Markup):
        return child
    if child is None:
        return Markup()
    if isinstance(child, str) or not isinstance(child, Iterable):
        # IR is full of quotes and arrows, which are no markup in a text.
        return Markup(str(child).replace("&", "&amp;").replace("<", "&lt;"))
    return Markup("".join(map(text_of, child)))


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """An element with its end tag.

    Args:
        tag: Its name.
        children: As ``text_of`` takes them.
        attributes: By name, with ``_`` for ``-`` and at the end of Python's keywords.
            None leaves an attribute out, True gives it no value.
    """
    shown = "".join(
        _attribute(name.strip("_").replace("_", "-"), value)
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{tag}{shown}>{text_of(children)}</{tag}>")


def _attribute(name: str, value: Any) -> str:
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def folded(summary: Any, *children: Any, **attributes: Any) -> Markup:
    """Something that is shown when its summary is clicked."""
    return element("details", element("summary", summary), children, **attributes)


def table(titles: Iterable[Any], rows: Iterable[Iterable[Any]]) -> Markup:
    """A table that scrolls where it is too wide; a cell of None stays empty.

    Args:
        titles: Of the columns; those that begin with ``#`` hold numbers.
        rows: Of cells.
    """
    titles = list(titles)
    kinds = ["number" if title.startswith("#") else None for title in titles]
    head = (
        element("th", title.lstrip("#"), class_=kind, scope="col")
        for title, kind in zip(titles, kinds, strict=True)
    )
    body = (
        element(
            "tr",
            (
                element("td", cell, class_=kind)
                for cell, kind in zip(row, kinds, strict=True)
            ),
            class_="item",
        )
        for row in rows
    )
    made = element(
        "table", element("thead", element("tr", head)), element("tbody", body)
    )
    return element("div", made, class_="wide", tabindex=0)


def milliseconds(seconds: float | None) -> str:
    """A time in ms, or nothing."""
    return "" if seconds is None else f"{1e3 * seconds:.2f}"


def counted(number: int, noun: str) -> str:
    """A number with its noun, as ``2 graphs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
