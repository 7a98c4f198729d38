"""Where a segment may end.

Instructions are counted while tracing. An error that leaves one carries the break
points of that moment, innermost first; the capture then starts again and stops before
one of them, with every frame exactly as Python would have it there.
"""

from __future__ import annotations

import itertools
import types
from dataclasses import dataclass

from girih.frontend.capture.values.tensor import TensorValue


@dataclass(frozen=True)
class BreakPoint:
    """An instruction before which a trace can stop.

    Attributes:
        count: Which instruction of the trace it is, from 1.
        depth: Place of its frame among the frames, 0 for the root.
        code: The frame's code.
        index: Index of the instruction in the code.
    """

    count: int
    depth: int
    code: types.CodeType
    index: int


class Stopped(BaseException):
    """The trace has come to the break point. No handler of ``Exception`` sees it.

    Attributes:
        frames: The frames, outermost first.
    """

    def __init__(self, frames: list):
        super().__init__()
        self.frames = frames


def break_points(frames: list, node_count: int) -> tuple[BreakPoint, ...]:
    """Where the trace could have stopped, given the frames it stands in.

    A frame is restorable if each frame down to it was entered directly by an
    instruction of its parent, so that its result is what that instruction pushes. An
    inner frame that has met no tensors is left out: nothing is won by going on in its
    middle, so its whole call runs as Python.

    Args:
        frames: The frames, outermost first.
        node_count: How many nodes the graph has.
    """
    restorable = list(itertools.takewhile(lambda f: f.is_direct, frames[1:]))
    while restorable and not _meets_tensors(restorable[-1], node_count):
        restorable.pop()
    found = [
        BreakPoint(frame.begun, depth, frame.code, frame.next - 1)
        for depth, frame in enumerate([frames[0], *restorable])
    ]
    return tuple(reversed(found))


def _meets_tensors(frame, node_count: int) -> bool:
    if frame.node_count != node_count:
        return True
    cells = (cell.content for cell in frame.cells.values())
    values = itertools.chain(frame.locals.values(), frame.stack, cells)
    return any(map(_has_tensors, values))


def _has_tensors(value) -> bool:
    """Whether a value is a tensor, or a container that has one among its items."""
    items = getattr(value, "items", ())
    if isinstance(items, dict):
        items = items.values()
    elif not isinstance(items, (list, tuple)):
        items = ()
    return any(isinstance(v, TensorValue) for v in (value, *items))
