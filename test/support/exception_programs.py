"""What the tests of exceptions share."""

import os


def broken():
    """A C function that nobody models: the graph breaks here."""
    return os.getpid() > 0


class Own(ValueError):
    def __init__(self, code, *, detail=None):
        super().__init__(f"code {code}")
        self.code = code
        self.detail = detail

    def __str__(self):
        return f"<{self.code}: {self.args[0]}>"


class Plain(Exception):
    def __init__(self, left, right):
        self.left = left


class Missing(FileNotFoundError):
    pass


def chain(error, depth=5):
    """An exception with what it is chained to."""
    if error is None or depth == 0:
        return None
    return (
        type(error).__name__,
        str(error),
        chain(error.__cause__, depth - 1),
        chain(error.__context__, depth - 1),
        error.__suppress_context__,
    )


class Suppressing:
    seen = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.seen = kind.__name__, str(value), traceback is None
        return True


def parts(error):
    """All that can be seen of an exception, but its traceback."""
    if error is None:
        return None
    return (
        type(error),
        list(error.args) if not hasattr(error, "exceptions") else error.message,
        [parts(e) for e in getattr(error, "exceptions", ())],
        dict(vars(error)),
        str(error) if not isinstance(error, (KeyError, ExceptionGroup)) else "",
        [getattr(error, n, 0) for n in ("errno", "filename", "start", "value", "obj")],
        parts(error.__cause__),
        parts(error.__context__),
        error.__suppress_context__,
    )


def shown(error):
    """An exception, and what is in it."""
    if isinstance(error, BaseExceptionGroup):
        inner = [shown(e) for e in error.exceptions]
        return type(error).__name__, error.message, inner
    return None if error is None else repr(error)


def raise_group(*errors, message="group"):
    """Raises a group."""
    raise ExceptionGroup(message, list(errors))
