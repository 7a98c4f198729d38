"""What capture knows of a compiled function: its graphs, guards and breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from girih.errors import UnsupportedError
from girih.frontend.capture.listing import guard_lines, readable
from girih.frontend.capture.resume.origin import origin_of


@dataclass(frozen=True)
class Captured:
    """A part of a function that was captured.

    Attributes:
        function: The name of the function.
        file: Where it stands.
        line: Its first line.
        goes_on: Whether the part begins after a break.
        graph: The graph as text, one operation a line; "" where nothing is computed.
        operations: How many operations it has.
        guards: What has to hold for the part to run again, as Python text.
        broken: Why the part ends before the function does, or None.
    """

    function: str
    file: str
    line: int
    goes_on: bool
    graph: str
    operations: int
    guards: tuple[str, ...]
    broken: UnsupportedError | None


def captures_of(dispatcher: Any) -> list[Captured]:
    """All that is captured of a function, and of what it calls after a break.

    Args:
        dispatcher: As ``dispatcher_of`` returns it.
    """
    return list(_captures(dispatcher, set()))


def breaks_of(captures: list[Captured]) -> list[tuple[Captured, UnsupportedError]]:
    """The breaks, each place once, with what was being captured."""
    found: dict[tuple, tuple[Captured, UnsupportedError]] = {}
    for captured in captures:
        if (error := captured.broken) is not None:
            found.setdefault((error.kind, error.location), (captured, error))
    return list(found.values())


def _captures(dispatcher: Any, met: set[int]) -> Iterator[Captured]:
    if id(dispatcher) in met:
        return
    met.add(id(dispatcher))
    for frame in reversed(dispatcher.girih_compiler.frames):  # the newest is first
        yield _captured(dispatcher.function, frame)
    for callee in dispatcher.callees.values():
        if hasattr(callee, "girih_compiler"):
            yield from _captures(callee, met)


def _captured(function: Any, frame: Any) -> Captured:
    origin = origin_of(function.__code__)
    code = function.__code__ if origin is None else origin.code
    nodes = [] if frame.graph is None else frame.graph.graph.nodes
    return Captured(
        function.__qualname__,
        code.co_filename,
        code.co_firstlineno,
        origin is not None,
        readable(frame),
        sum(node.op.startswith("call_") for node in nodes),
        tuple(guard_lines(frame)),
        frame.broken,
    )
