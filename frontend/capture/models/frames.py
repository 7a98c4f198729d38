"""Functions that give the program frames: its own, and those of its callers."""

from __future__ import annotations

import inspect
import sys

from girih.errors import UnsupportedError
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.readers import READING, is_library
from girih.frontend.capture.resume.origin import original_code


@models(sys._getframe)
def _getframe(tracer, depth=None):
    raise UnsupportedError(
        "a look at the frames of the callers",
        "sys._getframe",
        (
            "girih makes no frames for the calls that it follows, so Python "
            "runs this call."
        ),
    ).marked(reads_callers=_reads_callers(tracer.frames, depth))


@models(sys._current_frames)
def _current_frames(tracer):
    raise UnsupportedError(
        "a look at the frames of all threads",
        "sys._current_frames",
        (
            "girih makes no frames for the calls that it follows, so Python "
            "runs this call."
        ),
    ).marked(reads_callers=True)


def _reads_callers(frames: list, depth) -> bool:
    """Whether code of the program may come to the frame of a caller.

    The standard library and torch look for a file, a line or a module's name, as
    warnings and messages to loggers do; those are right in resumed code too.
    """
    codes = [original_code(frame.code) for frame in reversed(frames)]
    level = 0 if depth is None else depth.as_python()
    if codes[0] is inspect.currentframe.__code__:
        del codes[0]
        level -= 1
    reader = next((code for code in codes if code.co_filename not in READING), None)
    if reader is None or is_library(reader):
        return False
    is_own = reader is codes[0] and level == 0
    return not is_own or "f_back" in reader.co_names
