"""Where the lines of generated code come from: graphs that are captured as Python."""

from __future__ import annotations

import weakref
from collections.abc import Mapping

from torch.fx import GraphModule

Place = tuple[str, int, str]
"""File, line and function of the user's program."""

_places: dict[str, Mapping[int, Place]] = {}


def note_places(gm: GraphModule, places: Mapping[int, Place]) -> None:
    """Notes the places of a graph's nodes, as long as the graph is alive.

    Args:
        gm: The graph; its code is written.
        places: By the number of a node in it.
    """
    filename = gm.forward.__func__.__code__.co_filename
    found = _places[filename] = {
        line + gm._prologue_start: places[number]
        for line, number in gm._lineno_map.items()
        if number in places
    }
    weakref.finalize(gm, _forget, filename, found).atexit = False


def _forget(filename: str, found: Mapping[int, Place]) -> None:
    if _places.get(filename) is found:  # names of files come again
        del _places[filename]


def users_place(filename: str, line: int, function: str) -> Place:
    """The place in the user's program that a line of code stands for."""
    known = _places.get(filename)
    if not known:
        return filename, line, function
    before = [number for number in known if number <= line]
    return known[max(before, default=min(known))]
