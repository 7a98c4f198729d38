"""What becomes of an error in some stage."""

from __future__ import annotations

import warnings

from girih.errors import CompileError, UnsupportedError
from girih.options import Options
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


def why_eager(error: Exception, options: Options, report: Report, what: str) -> str:
    """The reason to run eager after an error, which a bug of girih warns about.

    Args:
        error: What a stage raised.
        options: They say whether bugs may be passed over.
        report: Of the compilation that failed.
        what: What runs eager, for the warning.

    Raises:
        CompileError: The error is a bug, and falling back is switched off.
    """
    cause = error.cause if isinstance(error, PassError) else error
    if isinstance(cause, UnsupportedError):
        return cause.summary()
    if isinstance(cause, NotDifferentiable):
        return str(cause)
    bug = as_compile_error(error, report)
    if not options.falls_back():
        raise bug from error
    warnings.warn(f"{bug}\n  {what} runs eager", stacklevel=3)
    return str(bug)
