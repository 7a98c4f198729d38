"""What becomes of an error of a graph in a segment that began inside of blocks.

The frames are restored as they were where the segment began, and the error is raised
there: handlers, ``finally`` and ``__exit__`` run as Python. See ``blocks.py``.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from girih.frontend.capture import _frame
from girih.frontend.capture.blocks import is_resumed
from girih.frontend.capture.resume.code import resume_code
from girih.frontend.capture.resume.layout import Slot
from girih.frontend.capture.resume.origin import Origin, origin_of


def raised_in_blocks(
    error: BaseException, function, arguments: tuple, place: tuple[int, int] | None
) -> _frame.Tail:
    """What a segment does about an error of its graph: the tail call that raises it.

    Args:
        error: The error.
        function: The function of the segment, made of resume code.
        arguments: Its arguments.
        place: As in ``Blocks``.
    """
    depth, shown = (sys.maxsize, None) if place is None else place
    return _frame.Tail(*_raising(error, function, arguments, depth, shown), True)


def _raising(
    error: BaseException, function, arguments: tuple, depth: int, shown: int | None
) -> tuple:
    """A function that restores the frame and raises, and its arguments."""
    origin = origin_of(function.__code__)
    _chain(error, _handled(origin, arguments))
    state = arguments
    if origin.calls:
        *state, inner, inner_arguments = arguments
        if depth and is_resumed(inner):
            raising = _raising(error, inner, inner_arguments, depth - 1, shown)
            return function, (*state, *raising)
    calls, layout = origin.standing, origin.layout
    code = resume_code(origin.code, origin.target, layout, calls=calls, shown=shown)
    raising = types.FunctionType(
        code, function.__globals__, code.co_name, None, function.__closure__
    )
    return raising, (*state, _frame.raise_again, (error,))


def _handled(origin: Origin, arguments: tuple) -> Any:
    """The exception that the frame handles, or None."""
    layout = origin.layout
    passed = [slot for slot in layout.stack if slot is not Slot.NULL]
    start = len(origin.code.co_varnames) + len(layout.cells)
    found = None
    for slot, value in zip(passed, arguments[start:], strict=False):
        found = value if slot is Slot.PREVIOUS else found
    return found


def _chain(error: BaseException, handled: BaseException | None) -> None:
    """The graph did not know what the frame handles."""
    if handled is not None and error.__context__ in (None, handled.__context__):
        error.__context__ = handled
