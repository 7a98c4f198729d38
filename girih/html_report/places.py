"""Lines of the user's program, with links to them and from them."""

from __future__ import annotations

import linecache
from collections.abc import Iterable

from girih.html_report.markup import Markup, element

_AROUND = 2
"""Lines that are shown before and after one that something belongs to."""


class Places:
    """Collects lines while the page is written, and shows them at its end."""

    def __init__(self) -> None:
        self._users: dict[str, dict[int, dict[str, str]]] = {}

    def link(self, file: str, line: int, user: str = "", name: str = "") -> Markup:
        """A link to a line.

        Args:
            file: Its path.
            line: Its number, from 1.
            user: The id of what belongs to the line, which gets a link from there.
            name: What that is called.
        """
        users = self._users.setdefault(file, {}).setdefault(line, {})
        if user:
            users.setdefault(user, name)
        short = file.replace("\\", "/").rpartition("/")[2] or file
        return element("a", f"{short}:{line}", href=f"#{self._id(file, line)}")

    def links(
        self, places: Iterable[tuple[str, int]], user: str = "", name: str = ""
    ) -> list[Markup]:
        """Links with the text of each line beside it."""
        found = dict.fromkeys((file, line) for file, line in places if line > 0)
        return [
            element(
                "div",
                self.link(file, line, user, name),
                " ",
                element("code", linecache.getline(file, line).strip()),
                class_="place",
            )
            for file, line in found
        ]

    def shown(self) -> list[Markup]:
        """The lines of each file."""
        return [self._file(file) for file in sorted(self._users)]

    def _id(self, file: str, line: int) -> str:
        return f"line-{list(self._users).index(file)}-{line}"

    def _file(self, file: str) -> Markup:
        last = len(linecache.getlines(file))
        shown: dict[int, None] = {}
        for line in sorted(self._users[file]):
            near = range(line - _AROUND, line + _AROUND + 1)
            shown |= {n: None for n in near if n == line or 1 <= n <= last}
        rows, before = [], 0
        for line in shown:
            if before and line != before + 1:
                rows.append(element("tr", element("td", "…", colspan=3)))
            rows.append(self._row(file, line))
            before = line
        body = element("table", element("tbody", rows), class_="source")
        where = element("div", body, class_="wide", tabindex=0)
        return element("section", element("h3", file), where, class_="item")

    def _row(self, file: str, line: int) -> Markup:
        users = self._users[file].get(line)
        links = [
            element("a", name, href=f"#{user}") for user, name in (users or {}).items()
        ]
        spaced = [part for link in links for part in (link, " ")]
        return element(
            "tr",
            element("td", line, class_="number"),
            element("td", element("code", linecache.getline(file, line).rstrip("\n"))),
            element("td", spaced),
            id=None if users is None else self._id(file, line),
            class_=None if users is None else "used",
        )
