"""The exceptions of girih.

Three kinds, never confused: bad input of the user (``TypeError`` and ``ValueError``
of Python, or eager's own error), a program that girih does not support
(``UnsupportedError``), and a bug of girih (``CompileError``).
"""

from __future__ import annotations

import errno
import linecache
from dataclasses import dataclass

from girih import config


@dataclass(frozen=True)
class SourceLocation:
    """A place in the user's program.

    Attributes:
        filename: Path as Python reports it.
        line: Line number, from 1.
        function: Name of the function, or "".
        column: First column in bytes of UTF-8, from 0, or None where it is not known.
        end_column: Column after the last one, or None.
    """

    filename: str
    line: int
    function: str = ""
    column: int | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        where = f"{self.filename}:{self.line}"
        return f"{where} in {self.function}" if self.function else where

    def excerpt(self) -> str:
        """The source line with a caret under the expression, or ""."""
        text = linecache.getline(self.filename, self.line).rstrip("\n")
        if not text.strip():
            return ""
        indent = len(text) - len(text.lstrip())
        first = indent if self.column is None else _characters(text, self.column)
        last = len(text)
        if self.end_column is not None:
            last = _characters(text, self.end_column)
        caret = " " * (first - indent) + "^" * max(last - first, 1)
        return f"    {text.strip()}\n    {caret}"


def _characters(text: str, column: int) -> int:
    """Characters before a column; Python counts columns in bytes of UTF-8."""
    return len(text.encode()[:column].decode(errors="ignore"))


class GirihError(RuntimeError):
    """Base class of the errors that girih itself raises.

    Where TorchDynamo is loaded, classes of its errors are bases, too (``twins``). They
    count what is raised, and a pickle of them loads TorchDynamo: none of it is girih's.
    """

    __init__ = RuntimeError.__init__
    __reduce__ = RuntimeError.__reduce__
    __setstate__ = RuntimeError.__setstate__


class UnknownBackendError(ValueError):
    """No backend has the name that was given; a base is added as to ``GirihError``."""

    __init__ = ValueError.__init__
    __reduce__ = ValueError.__reduce__
    __setstate__ = ValueError.__setstate__


class SwitchWarning(UserWarning):
    """A switch or an option of torch's compiler was set, and girih does not have it."""


class DifferenceWarning(RuntimeWarning):
    """A compiled graph gave another result than eager where that was checked."""


class RecompileError(GirihError):
    """A call needs compilation while the stance is ``"fail_on_recompile"``."""


class PackageError(GirihError):
    """A package is damaged, or can't run here; no code of it has run."""


class UnsupportedError(GirihError):
    """Something in the user's program that girih cannot compile.

    Args:
        kind: A constant that names the reason; each stands in the code once.
        context: What was met, for instance an operator with its argument types.
        explanation: Why, in plain words.
        hints: What the user can do about it.
        location: The user's line, where known.
        stack: The calls that led there, outermost first, ending at the location.

    Attributes:
        break_points: Where capture could stop before it; None where not known yet.
        is_final: The program says that a graph break is an error here.
        met_tensors: Whether what was being captured had met tensors.
        told_compiling: Whether the program had been told that it is compiled.
        is_of_graph: The backend refused a captured graph.
        reads_callers: The program looks at the frames of its callers.
        keeps_variables: What frames hold must live as long as their variables.
        is_of_result: A graph must not return what was computed there, so capture ends
            before.
    """

    keeps_variables: bool = False

    reads_callers: bool = False
    is_of_graph: bool = False
    is_of_result: bool = False
    told_compiling: bool = False
    met_tensors: bool = False
    break_points: tuple | None = None
    is_final: bool = False

    def __init__(
        self,
        kind: str,
        context: str = "",
        explanation: str = "",
        hints: tuple[str, ...] = (),
        location: SourceLocation | None = None,
        stack: tuple[SourceLocation, ...] = (),
    ):
        self.kind = kind
        self.context = context
        self.explanation = explanation
        self.hints = tuple(hints)
        self.location = location
        self.stack = tuple(stack)
        super().__init__(self._text())

    def __reduce__(self):
        parts = (self.kind, self.context, self.explanation, self.hints)
        return type(self), (*parts, self.location, self.stack)

    def _text(self) -> str:
        lines = [self.kind + (f": {self.context}" if self.context else "")]
        if self.explanation:
            lines.append(f"  {self.explanation}")
        if self.location is not None:
            lines.append(f"  at {self.location}")
            lines.extend(filter(None, [self.location.excerpt()]))
        lines.extend(self._calls())
        lines.extend(f"  hint: {hint}" for hint in self.hints)
        return "\n".join(lines)

    def _calls(self) -> list[str]:
        """The calls around the location, innermost first; long runs are cut."""
        outer = [place for place in self.stack if place != self.location][::-1]
        lines = [f"  called from {place}" for place in outer]
        if len(lines) > 2 * _CALLS_SHOWN:
            cut = f"  ... {len(lines) - 2 * _CALLS_SHOWN} calls ..."
            lines[_CALLS_SHOWN:-_CALLS_SHOWN] = [cut]
        return lines

    @property
    def msg(self) -> str:
        """The text, by the name that handlers of TorchDynamo's errors read."""
        return str(self)

    @property
    def gb_type(self) -> str:
        """The kind, by the name that handlers of TorchDynamo's errors read."""
        return self.kind

    def summary(self) -> str:
        """The reason and the user's line, on one line, for a log."""
        where = f" at {self.location}" if self.location is not None else ""
        context = f" ({self.context})" if self.context else ""
        return f"{self.kind}{context}{where}"

    def marked(self, **marks: bool) -> UnsupportedError:
        """The same error with some of its attributes set.

        What raises it has no variable for it: that would be a cycle, which keeps the
        frames and their arguments alive.
        """
        vars(self).update(marks)
        return self

    def located(self, location: SourceLocation) -> UnsupportedError:
        """The same error, seen from the frame at ``location``.

        The first frame that it leaves gives the location; every further one is a call
        that led there.
        """
        return type(self)(
            self.kind,
            self.context,
            self.explanation,
            self.hints,
            self.location or location,
            (location, *self.stack),
        )


class RecompileLimitError(UnsupportedError):
    """A call that has to be compiled needs one more entry than the limit allows."""


_CALLS_SHOWN = 8  # at each end of the user's stack


def unsupported(
    *,
    kind: str,
    context: str = "",
    explanation: str = "",
    hints: tuple[str, ...] = (),
    location: SourceLocation | None = None,
):
    """Raises ``UnsupportedError``; the arguments are those of its constructor."""
    raise UnsupportedError(kind, context, explanation, hints, location)


class CompileError(GirihError):
    """A stage failed on a program that it should compile.

    That is a bug of girih, unless the pass that failed is defined elsewhere.

    Args:
        stage: Name of the stage or pass that failed.
        message: What happened, with the op and the user's line where known.
        reproducer: Path of a file that ``girih-opt`` replays, or None.
        is_girihs: Whether the failure is a bug of girih.
    """

    def __init__(
        self,
        stage: str,
        message: str,
        reproducer: str | None = None,
        *,
        is_girihs: bool = True,
    ):
        self.stage = stage
        self.reproducer = reproducer
        self.is_girihs = is_girihs
        text = f"girih bug in {stage}: {message}" if is_girihs else message
        super().__init__(text)


_LEFT_OUT = (
    "The traceback leaves out girih's own code. GIRIH_VERBOSE=1 shows it, and the "
    "error there; please report both."
)


def for_users(error: GirihError) -> GirihError:
    """The same error without the frames of girih, and the errors behind it.

    Its text has the user's line, and what a user's pass raised.
    """
    if config.is_verbose():
        return error
    is_bug = isinstance(error, CompileError) and error.is_girihs
    if is_bug and _LEFT_OUT not in getattr(error, "__notes__", ()):
        error.add_note(_LEFT_OUT)
    error.__cause__, error.__suppress_context__ = None, True
    return error.with_traceback(None)


# What the process has no more of: -----------------------------------------------------

EXHAUSTED = "out of memory, stack, files or threads"

_EXHAUSTED = frozenset(
    getattr(errno, name)
    for name in "EAGAIN EDQUOT EFBIG EMFILE ENFILE ENOMEM ENOSPC".split()
)


def is_exhaustion(error: BaseException) -> bool:
    """Whether the process had run out of something, which is no bug and may pass."""
    if isinstance(error, OSError):
        return error.errno in _EXHAUSTED
    return isinstance(error, MemoryError | RecursionError)


def exhaustion(error: BaseException) -> UnsupportedError:
    """What is said of such an error."""
    return UnsupportedError(
        EXHAUSTED,
        f"{type(error).__name__}: {error}",
        "The process ran out of memory, stack, files or threads during a compilation.",
        (
            (
                "Raise the limit, or call the function from fewer frames. A later "
                "call tries again."
            ),
        ),
    )
