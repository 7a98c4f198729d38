"""Entries of calls that run as they were, which is expected to raise."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from girih.frontend.capture import _frame
from girih.frontend.capture.guard import GuardSet, GuardTree
from girih.frontend.capture.source import Source


def plain_entry(function, returned: Callable[[], None]) -> _frame.Entry:
    """An entry that runs the function as it was, which is expected to raise.

    Where it does not, ``returned`` is called.
    """
    code = function.__code__
    positional = code.co_argcount
    named = positional + code.co_kwonlyargcount

    def run(*values):
        keywords = dict(
            zip(code.co_varnames[positional:named], values[positional:], strict=False)
        )
        args, rest = values[:positional], list(values[named:])
        if code.co_flags & inspect.CO_VARARGS:
            args = (*args, *rest.pop(0))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            keywords.update(rest.pop())
        result = function(*args, **keywords)
        returned()
        return result

    flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    count = named + sum(bool(code.co_flags & flag) for flag in flags)
    sources = [Source("local", index, None) for index in range(count)]
    guards = GuardTree(GuardSet(), sources).build(0, None, None, None)
    return _frame.Entry(guards, run, -1)
