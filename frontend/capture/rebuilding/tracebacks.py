"""Tracebacks of exceptions that were raised while tracing.

Where such an exception goes on as a Python object it has to have a traceback: it is
printed, and CPython's own cleanup of ``with`` relies on it. Frames can't be made up, so
each entry stands on the frame of a generator that never starts, whose code has the
names, lines and columns of the user's.
"""

from __future__ import annotations

import dis
import inspect
import types

Entry = tuple[types.CodeType, int, int, dict]  # code, offset in bytes, line, globals

_PARAMETERS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def with_traceback(error: BaseException, entries: tuple[Entry, ...]) -> BaseException:
    """Puts the frames that an exception went through before its traceback.

    Args:
        error: The exception.
        entries: The frames that it went through, outermost first.
    """
    traceback = error.__traceback__
    for code, offset, line, namespace in reversed(entries):
        frame = _frame_like(code, namespace)
        traceback = types.TracebackType(traceback, frame, offset, line)
    return error.with_traceback(traceback)


def _frame_like(code: types.CodeType, namespace: dict) -> types.FrameType:
    cells = tuple(types.CellType() for _ in code.co_freevars)
    function = types.FunctionType(_as_generator(code), namespace, closure=cells)
    return function().gi_frame


def _as_generator(code: types.CodeType) -> types.CodeType:
    """A code that makes a generator at once; its instructions have the same places."""
    start = bytes((dis.opmap["RETURN_GENERATOR"], 0, dis.opmap["POP_TOP"], 0))
    return code.replace(
        co_argcount=0,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~_PARAMETERS | inspect.CO_GENERATOR,
        co_code=start + code.co_code[len(start) :],
    )
