"""What runs eager although it was to be compiled: one mechanism for all of it.

Whoever hands a function, a graph or a call over to eager asks a ``Site``, which raises
where that is not allowed, and else notes it, counts it and warns. So nothing is eager
in silence. See ``docs/eager.md``.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from girih import tally
from girih.errors import GirihError, SourceLocation, UnsupportedError, for_users
from girih.log import logger

_hints = logger("perf_hints")

KINDS = {
    "alignment": "a tensor is not aligned as kernels need it",
    "bug": "girih itself failed",
    "capture": "girih can neither capture the function nor break it into graphs",
    "derivative": "an operation has no derivative in girih",
    "device": "girih makes no code for the device",
    "errors": "the first calls of the function raised",
    "generator": (
        "the function is a generator or a coroutine, whose body runs after the call"
    ),
    "import": (
        "the graph has an operation, a tensor or an alias that girih cannot compile"
    ),
    "inference mode": "results are made, or written, in another inference mode",
    "kernel check": "a kernel refused the data, but eager accepted it",
    "mode": "a mode of torch is active that compiled code would bypass",
    "number": "a float is too large for float32",
    "overlap": (
        "an argument that is written shares memory with another argument, or its own "
        "elements share memory"
    ),
    "pass": "a user's pass, pipeline or rule failed",
    "recompile limit": "the function reached its limit of compilations",
    "resources": "the process ran out of memory, stack, files or threads",
    "transform": "a transform wraps tensors: vmap, or forward-mode AD",
}
"""Why something runs eager: each kind with what it means."""


class FallbackWarning(UserWarning):
    """Something that was to be compiled runs eager."""


@dataclass(frozen=True)
class Fallback:
    """Something that runs eager although it was to be compiled.

    Attributes:
        kind: One of ``KINDS``.
        what: What runs eager: "this graph", or a function with its place.
        reason: Why, on one line, with the user's line where known.
        location: The user's line, or None.
        text: All that is known, as the warning has it.
    """

    kind: str
    what: str
    reason: str
    location: SourceLocation | None
    text: str

    def __str__(self) -> str:
        return f"{self.what} runs in eager mode. Reason: {self.reason}"


@dataclass
class Site:
    """Something that may be left to eager.

    Attributes:
        what: What it is, for messages.
        is_allowed: Whether it may run eager; else that is an error.
        place: Where it begins in the user's program, where known.
        found: Gets what is noted, each thing once.
    """

    what: str
    is_allowed: bool
    place: SourceLocation | None = None
    found: list[Fallback] = field(default_factory=list)

    def leave(self, kind: str, error: GirihError) -> Fallback:
        """Leaves it to eager for good.

        Args:
            kind: One of ``KINDS``.
            error: Why, with the user's line where known.

        Raises:
            GirihError: The error, where falling back is not allowed.
        """
        fallback = self._noted(kind, error)
        tally.add("fallbacks", kind)
        _warn(fallback)
        return fallback

    def ran(self, kind: str, error: GirihError) -> Fallback:
        """One call of it is left to eager; else like ``leave``."""
        fallback = self._noted(kind, error)
        tally.add("eager_calls", kind)
        _warn(fallback)
        return fallback

    def tell(self, kind: str, error: GirihError) -> Fallback:
        """Calls of it, which count themselves, are left to eager."""
        fallback = self._noted(kind, error)
        _warn(fallback)
        return fallback

    def _noted(self, kind: str, error: GirihError) -> Fallback:
        assert kind in KINDS, f"girih bug: no kind of fallback is called {kind!r}"
        if not self.is_allowed:
            raise error
        place = getattr(error, "location", None) or self.place
        is_known = isinstance(error, UnsupportedError)
        reason = error.summary() if is_known else str(error).split("\n")[0]
        fallback = Fallback(kind, self.what, reason, place, str(error))
        if fallback not in self.found:
            where = f" ({place.filename}:{place.line})" if place else ""
            _hints.info("%s%s", fallback, where)
        for notes in (self.found, *_collectors):
            if fallback not in notes:
                notes.append(fallback)
        return fallback


def for_now(function: Callable) -> Callable:
    """Marks an eager function that capture has to use for one call only."""
    function.is_for_now = True  # type: ignore[attr-defined]
    return function


def is_for_now(function: Callable) -> bool:
    """Whether an eager function was marked so."""
    return getattr(function, "is_for_now", False)


def counted(kind: str, function: Callable) -> Callable:
    """An eager function whose calls are counted."""

    def run(*arguments: Any) -> Any:
        tally.add("eager_calls", kind)
        return function(*arguments)

    return run


# One call ---------------------------------------------------------------------------

_CLONE = (
    "Pass a clone of one of the two arguments, or of the argument whose elements share "
    "memory."
)

# What the runtime says about a call that it leaves to eager, and what helps.
_OF_ONE_CALL = {
    "alignment": (
        "The tensor's address is not a multiple of 16 bytes.",
        "Pass a clone of the tensor.",
    ),
    "kernel check": (
        "A check in a compiled kernel rejected the data, but eager mode computed a "
        "result from them.",
        "Please report this as a bug in girih.",
    ),
    "number": ("Kernels compute with the number in float32.", "Pass it as a tensor."),
    "overlap": ("The graph was compiled for tensors that share no memory.", _CLONE),
    "transform": (
        "Compiled code takes plain tensors.",
        "Compile the function that has the transform in it.",
    ),
}


def with_reasons(site: Site, eager: Callable) -> Callable:
    """What a program calls where it leaves a call to eager.

    Args:
        site: Where that is noted.
        eager: The same function as torch computes it.

    Returns:
        A function of the kind of fallback and the arguments.
    """

    def fall_back(kind: str, *arguments: Any) -> Any:
        explanation, hint = _OF_ONE_CALL[kind]
        error = UnsupportedError(kind, KINDS[kind], explanation, (hint,), site.place)
        results = eager(*arguments)  # eager's own error, if any, is all that is said
        try:
            site.ran(kind, error)
        except UnsupportedError as refusal:
            raise for_users(refusal) from refusal.__cause__
        return results

    return fall_back


# Warnings ---------------------------------------------------------------------------

_warned: set[tuple] = set()
_collectors: list[list[Fallback]] = []


@contextmanager
def collected() -> Iterator[list[Fallback]]:
    """Gives a list of what is left to eager in the block."""
    found: list[Fallback] = []
    _collectors.append(found)
    try:
        yield found
    finally:
        _collectors[:] = [notes for notes in _collectors if notes is not found]


def forget() -> None:
    """Has everything warn once more."""
    _warned.clear()


def _warn(fallback: Fallback) -> None:
    """Warns once for each place and reason, at the user's line.

    A place in a library stands for the user's line that led there: one cause may leave
    each of a library's nested calls to eager.
    """
    where = fallback.location
    is_users = where is not None and not _is_of_library(where.filename)
    filename, line = (where.filename, where.line) if is_users else _line_of_user()
    place = (filename, line) if where else fallback.what
    key = (fallback.kind, fallback.reason, place)
    if key in _warned:
        return
    _warned.add(key)
    text = (
        f"girih runs {fallback.what} in eager mode: {fallback.text}\n"
        '  options={"fallback": False} makes this an error.'
    )
    warnings.warn_explicit(text, FallbackWarning, filename, line)


def _line_of_user() -> tuple[str, int]:
    """The innermost line that is neither girih's nor torch's."""
    frame = sys._getframe(1)
    while frame.f_back and _is_of_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _is_of_library(filename: str) -> bool:
    return filename.startswith(("<", *_folders()))


def _folders() -> tuple[str, ...]:
    packages = [sys.modules.get(name) for name in _LIBRARIES]
    return tuple(
        os.path.join(folder, "")
        for package in packages
        for folder in getattr(package, "__path__", ())
    )


_LIBRARIES = (
    *("girih", "girih.codegen", "girih.dialects", "girih.frontend", "girih.passes"),
    "torch",
)
