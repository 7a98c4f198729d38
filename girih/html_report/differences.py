"""What changed between two texts of IR, numbers of values aside.

A pass that removes one op renumbers all values behind it. So lines are paired without
the names of their values. A pair then counts as changed only where its values are not
those that take the place of each other: where a name stood for one value before and
stands for another one now.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

Piece = tuple[str, list[str]]
"""A kind, " ", "-", "+" or "@" (lines are left out), and lines."""

_VALUE = re.compile(r"%[\w$.-]+(?:[:#]\d+)?|\^bb\d+")

CONTEXT = 2
"""Unchanged lines that are shown on each side of a change."""
MOST_REMOVED = 12
"""Lines that are shown as removed, in one place."""
WIDEST_ALIKE = 400
"""Characters that are shown of an unchanged line."""


def difference(before: Sequence[str], after: Sequence[str]) -> list[Piece]:
    """The changes from one text to another.

    Args:
        before: Lines.
        after: Lines.

    Returns:
        All lines, with the names that they have now where they are unchanged; nothing
        where only names of values differ.
    """
    if before == after:
        return []
    pieces = list(_joined(_pieces(before, after)))
    return [] if all(kind == " " for kind, _ in pieces) else pieces


def sizes(pieces: Sequence[Piece]) -> tuple[int, int]:
    """How many lines were removed, and how many added."""
    removed = sum(len(lines) for kind, lines in pieces if kind == "-")
    return removed, sum(len(lines) for kind, lines in pieces if kind == "+")


def _pieces(before: Sequence[str], after: Sequence[str]) -> Iterator[Piece]:
    keys = [[_VALUE.sub("%", line) for line in lines] for lines in (before, after)]
    stands_for: dict[str, str] = {}
    matcher = difflib.SequenceMatcher(None, *keys)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind != "equal":
            yield "-", list(before[i:i_end])
            yield "+", list(after[j:j_end])
            continue
        for old, new in zip(before[i:i_end], after[j:j_end], strict=True):
            if _agree(old, new, stands_for):
                yield " ", [new]
            else:
                yield "-", [old]
                yield "+", [new]


def _agree(old: str, new: str, stands_for: dict[str, str]) -> bool:
    """Whether the values of two lines that are alike take each other's place."""
    made = _VALUE.findall(_made(old))
    names = _VALUE.findall(old), _VALUE.findall(new)
    agree = True
    for position, (was, is_now) in enumerate(zip(*names, strict=True)):
        # A number of results is the same on both sides; one of them is a value's own.
        was, is_now = (name.partition(":")[0] for name in (was, is_now))
        if position < len(made):
            stands_for[was] = is_now
        elif stands_for.setdefault(was, is_now) != is_now:
            agree = False
    return agree


def _made(line: str) -> str:
    """The part of a line that names values which begin there."""
    if line.lstrip().startswith("^") or "func" in line.partition("@")[0]:
        return line
    return line.partition(" = ")[0] if " = " in line else ""


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Neighbours of one kind as one piece, what is removed before what is added."""
    same: list[str] = []
    removed: list[str] = []
    added: list[str] = []
    for kind, lines in pieces:
        if kind == " ":
            yield from ((k, ls) for k, ls in (("-", removed), ("+", added)) if ls)
            removed, added = [], []
            same += lines
            continue
        if same:
            yield " ", same
            same = []
        (removed if kind == "-" else added).extend(lines)
    last = (("-", removed), ("+", added), (" ", same))
    yield from ((kind, lines) for kind, lines in last if lines)


def shortened(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The changes without lines that are far from them, or that stand elsewhere.

    What is removed was shown where it was added, so of many such lines the first and
    the last ones are enough.
    """
    last = len(pieces) - 1
    for index, (kind, lines) in enumerate(pieces):
        ends = (index != 0 or kind == "-", index != last or kind == "-")
        most = MOST_REMOVED if kind == "-" else 2 * CONTEXT + 1
        if kind == " ":  # a signature may name hundreds of weights
            lines = [_cut(line) for line in lines]
        if kind == "+" or len(lines) <= most:
            yield kind, lines
            continue
        head = lines[:CONTEXT] if ends[0] else []
        tail = lines[-CONTEXT:] if ends[1] else []
        left_out = len(lines) - len(head) - len(tail)
        if head:
            yield kind, head
        what = "more lines removed" if kind == "-" else "lines alike"
        yield "@", [f"{left_out} {what}"]
        if tail:
            yield kind, tail


def _cut(line: str) -> str:
    return line if len(line) <= WIDEST_ALIKE else f"{line[:WIDEST_ALIKE]} …"
