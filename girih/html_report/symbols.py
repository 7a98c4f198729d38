"""The functions and kernels in a text of IR, by name."""

from __future__ import annotations

import re

OUTSIDE = ""
"""The name of what stands outside of them: the module's own lines."""

_OPENS = re.compile(r"  (?! )[^@]*?@(?P<name>[\w.$-]+|\"[^\"]*\")")
_SCHEDULE = re.compile(r' schedule "(?P<schedule>[^"]*)"')
_LAUNCH = re.compile(r"host\.launch .*? kernel @(?P<name>[\w.$-]+)")


def symbols_of(text: str) -> dict[str, list[str]]:
    """The lines of each function and kernel of a module.

    Args:
        text: As ``print_module`` makes it.

    Returns:
        Lines by name, in the order of the text. A name that comes again has a number.
    """
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        if current is not None:
            current.append(line)
            if line == "  }":
                current = None
            continue
        opening = _OPENS.match(line)
        if opening is None or not line.endswith("{"):
            found.setdefault(OUTSIDE, []).append(line)
            continue
        current = found[_unique(opening["name"].strip('"'), found)] = [line]
    return found


def _unique(name: str, found: dict[str, list[str]]) -> str:
    number, unique = 1, name
    while unique in found:
        number += 1
        unique = f"{name} ({number})"
    return unique


def schedule_of(lines: list[str]) -> str:
    """The schedule that the first line of a kernel names, or ""."""
    found = _SCHEDULE.search(lines[0]) if lines else None
    return found["schedule"] if found else ""


def code_of(kernel: str, symbols: dict[str, list[str]]) -> list[str]:
    """The lines of a kernel's functions: on a GPU it has several, with numbers."""
    own = re.compile(rf"{re.escape(kernel)}(_\d+)?")
    found = (lines for name, lines in symbols.items() if own.fullmatch(name))
    return [line for lines in found for line in lines]


def launched(line: str) -> re.Match | None:
    """Where a line of a launch program names a kernel."""
    return _LAUNCH.search(line)
