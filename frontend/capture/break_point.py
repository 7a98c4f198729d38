"""Where a segment may end.

Instructions are counted while tracing. An error that leaves one carries the break
points of that moment, innermost first; the capture then starts again and stops before
one of them, with every frame exactly as Python would have it there.
"""

from __future__ import annotations

import types
from dataclasses import dataclass


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


def break_points(frames: list) -> tuple[BreakPoint, ...]:
    """Where the trace could have stopped, given the frames it stands in.

    A frame is restorable if each frame down to it was entered directly by an
    instruction of its parent, so that its result is what that instruction pushes.
    """
    found: list[BreakPoint] = []
    for depth, frame in enumerate(frames):
        if depth and not frame.is_direct:
            break
        found.append(BreakPoint(frame.begun, depth, frame.code, frame.next - 1))
    return tuple(reversed(found))
