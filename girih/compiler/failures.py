"""What becomes of an error in some stage."""

from __future__ import annotations

import traceback

from girih.compiler import reproducers
from girih.dialects import guards
from girih.dialects.locations import position_of
from girih.dialects.rule_table import MissingRule, RuleMistake, blame
from girih.errors import (
    CompileError,
    GirihError,
    SourceLocation,
    UnsupportedError,
    exhaustion,
    is_exhaustion,
)
from girih.fallbacks import Site
from girih.passes import registry
from girih.passes.autograd.rules import NotDifferentiable
from girih.passes.options import UnknownPass
from girih.passes.pipeline_syntax import PipelineSyntaxError
from girih.passes.registry import PassError
from girih.reports import Report


def as_compile_error(error: Exception, report: Report) -> CompileError:
    """An error of some stage as the one that users get."""
    if isinstance(error, CompileError):
        return error
    if isinstance(error, PassError):
        reproducers.keep(error)
        path, stage = error.reproducer, f"pass {error.pass_name!r}"
        path = None if path is None else str(path)
        if error.is_foreign:
            return CompileError(stage, _of_a_user(error), path, is_girihs=False)
        return CompileError(stage, str(error), path)
    if isinstance(error, UnknownPass | PipelineSyntaxError):
        stage = next(reversed(report.stage_seconds), "import")
        text = f"the pipeline {stage!r} can't be run: {error}"
        return CompileError(stage, text, is_girihs=False)
    stage = next(reversed(report.stage_seconds), "import")
    return CompileError(stage, f"{type(error).__name__}: {error}")


def _of_a_user(error: PassError) -> str:
    """What is said of a pass or rule from elsewhere, with its own traceback."""
    frames = traceback.extract_tb(error.cause.__traceback__)
    drivers = (registry.__file__, guards.__file__)
    own = [frame for frame in frames if frame.filename not in drivers]
    lines = "".join(traceback.format_list(own)).rstrip()
    if isinstance(error.cause, MissingRule | RuleMistake):
        return str(error)
    rule = blame(error.cause.__traceback__)
    is_own = error.defined_in.partition(".")[0] == "girih"
    if is_own and not rule:
        return str(error)  # of what a user's pass may have left
    where = f"the {rule}" if rule else f"the pass is defined in {error.defined_in}"
    text = f"{error}\n  {where}"
    return f"{text}\n{lines}" if lines else text


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
    note = site.tell if kind == "resources" else site.leave
    report.fallback = note(kind, reason).reason


def kind_of(error: Exception) -> str:
    """The kind of fallback that an error of a stage leads to."""
    cause = error.cause if isinstance(error, PassError) else error
    if isinstance(cause, UnsupportedError):
        return "import"
    if isinstance(cause, NotDifferentiable):
        return "derivative"
    if is_exhaustion(cause):
        return "resources"
    is_foreign = isinstance(error, PassError) and error.is_foreign
    is_foreign |= isinstance(error, UnknownPass | PipelineSyntaxError)
    return "pass" if is_foreign else "bug"


def _reason_of(error: Exception, report: Report) -> tuple[str, GirihError]:
    """The kind of fallback, and why."""
    cause = error.cause if isinstance(error, PassError) else error
    kind = kind_of(error)
    if kind == "import":
        return kind, cause
    if kind == "resources":
        return kind, exhaustion(cause)
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
