"""The exceptions of girih.

Three kinds, never confused: bad input of the user (``TypeError`` and ``ValueError``
of Python, or eager's own error), a program that girih does not support
(``UnsupportedError``), and a bug of girih (``CompileError``).
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass


@dataclass(frozen=True)
class SourceLocation:
    """A place in the user's program.

    Attributes:
        filename: Path as Python reports it.
        line: Line number, from 1.
        function: Name of the function, or "".
        column: First column, from 0, or None where it is not known.
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
        first = indent if self.column is None else self.column
        last = len(text) if self.end_column is None else self.end_column
        caret = " " * (first - indent) + "^" * max(last - first, 1)
        return f"    {text.strip()}\n    {caret}"


class GirihError(RuntimeError):
    """Base class of the errors that girih itself raises."""


class UnsupportedError(GirihError):
    """Something in the user's program that girih cannot compile.

    Args:
        kind: A constant that names the reason; each stands in the code once.
        context: What was met, for instance an operator with its argument types.
        explanation: Why, in plain words.
        hints: What the user can do about it.
        location: The user's line, where known.

    Attributes:
        break_points: Where capture could stop before it; None where not known yet.
    """

    break_points: tuple | None = None

    def __init__(
        self,
        kind: str,
        context: str = "",
        explanation: str = "",
        hints: tuple[str, ...] = (),
        location: SourceLocation | None = None,
    ):
        self.kind = kind
        self.context = context
        self.explanation = explanation
        self.hints = tuple(hints)
        self.location = location
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [self.kind + (f": {self.context}" if self.context else "")]
        if self.explanation:
            lines.append(f"  {self.explanation}")
        if self.location is not None:
            lines.append(f"  at {self.location}")
            lines.extend(filter(None, [self.location.excerpt()]))
        lines.extend(f"  hint: {hint}" for hint in self.hints)
        return "\n".join(lines)

    def summary(self) -> str:
        """The reason and the user's line, on one line, for a log."""
        where = f" at {self.location}" if self.location is not None else ""
        context = f" ({self.context})" if self.context else ""
        return f"{self.kind}{context}{where}"

    def located(self, location: SourceLocation) -> UnsupportedError:
        """The same error with a location, unless it has one."""
        if self.location is not None:
            return self
        return UnsupportedError(
            self.kind, self.context, self.explanation, self.hints, location
        )


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
    """A bug of girih: a stage failed on a program that it should compile.

    Args:
        stage: Name of the stage or pass that failed.
        message: What happened, with the op and the user's line where known.
        reproducer: Path of a file that ``girih-opt`` replays, or None.
    """

    def __init__(self, stage: str, message: str, reproducer: str | None = None):
        self.stage = stage
        self.reproducer = reproducer
        text = f"girih bug in {stage}: {message}"
        if reproducer:
            text += f"\n  replay it with: girih-opt --run-reproducer {reproducer}"
        super().__init__(text)
