"""What becomes of an error in some stage."""

from __future__ import annotations

from girih.dialects.locations import position_of
from girih.errors import CompileError, GirihError, SourceLocation, UnsupportedError
from girih.fallbacks import Site
from girih.passes.autograd.rules import NotDifferentiable
from girih.passes.registry import PassError
from girih.reports import Report


def as_compile_error(error: Exception, report: Report) -> CompileError:
    """An error of some stage as the one that users get."""
    if isinstance(error, CompileError):
        return error
    if isinstance(error, PassError):
        path = error.reproducer
        error.reproducer = None  # the text of CompileError names it
        return CompileError(
            f"pass {error.pass_name!r}", str(error), str(path) if path else None
        )
    stage = next(reversed(report.stage_seconds), "import")
    return CompileError(stage, f"{type(error).__name__}: {error}")


def leave(site: Site, error: Exception, report: Report) -> None:
    """Leaves what could not be compiled to eager.

    Args:
        site: What runs eager.
        error: What a stage raised.
        report: Of the compilation that failed; it gets the reason.

    Raises:
        UnsupportedError: The program is not supported, and has to be compiled.
        CompileError: The error is a bug, and falling back is switched off.
    """
    kind, reason = _reason_of(error, report)
    if reason is not error:
        reason.__cause__ = error
    report.fallback = site.leave(kind, reason).reason


def kind_of(error: Exception) -> str:
    """The kind of fallback that an error of a stage leads to."""
    cause = error.cause if isinstance(error, PassError) else error
    if isinstance(cause, UnsupportedError):
        return "import"
    return "derivative" if isinstance(cause, NotDifferentiable) else "bug"


def _reason_of(error: Exception, report: Report) -> tuple[str, GirihError]:
    """The kind of fallback, and why."""
    cause = error.cause if isinstance(error, PassError) else error
    kind = kind_of(error)
    if kind == "import":
        return kind, cause
    if kind == "derivative":
        return kind, UnsupportedError(
            "operation without a derivative",
            str(cause),
            "girih has no rule for its derivative.",
            location=_line_of(error),
        )
    return kind, as_compile_error(error, report)


def _line_of(error: Exception) -> SourceLocation | None:
    """The user's line of the op that a pass was working on, where known."""
    location = getattr(error, "location", None)
    position = location and position_of(location)
    return position and SourceLocation(position.file, position.line)
