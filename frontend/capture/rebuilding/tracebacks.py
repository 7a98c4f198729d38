"""Tracebacks of exceptions that were raised while tracing.

Where such an exception goes on as a Python object it has to have a traceback: it is
printed, and CPython's own cleanup of ``with`` relies on it. Frames can't be made up, so
each entry stands on the frame of an empty function with the user's file and name.
"""

from __future__ import annotations

import sys
import types
from functools import lru_cache


def with_traceback(error: BaseException, entries: tuple) -> BaseException:
    """Gives an exception the traceback that Python would have given it.

    Args:
        error: The exception.
        entries: ``(code, line)`` of the frames that it went through, outermost first.
    """
    traceback = None
    for code, line in reversed(entries):
        traceback = types.TracebackType(traceback, _frame_like(code), -1, line)
    return error.with_traceback(traceback)


@lru_cache(maxsize=1024)
def _frame_like(code: types.CodeType) -> types.FrameType:
    names = {"co_filename": code.co_filename, "co_name": code.co_name}
    looks = _frame_of_this.__code__.replace(**names, co_qualname=code.co_qualname)
    return types.FunctionType(looks, {"getframe": sys._getframe})()


def _frame_of_this():
    return getframe()  # noqa: F821  (a global that the function is made with)
