"""What is said of what stopped a trace without naming a reason itself."""

from __future__ import annotations

from girih import log
from girih.errors import UnsupportedError, exhaustion, is_exhaustion
from girih.frontend.capture.values.base import NotConstant
from girih.frontend.capture.values.outside import OutsideValue

BUG = "girih bug while tracing"
OPERATION_FAILED = "an operation failed while tracing"
CALLER_HAS_LOST = (
    "code that reads its caller's frame after a graph break: girih has dropped the "
    "caller's unused variables"
)

# What is a fallback also where it merely breaks a graph, by the kind of the error.
FALLBACKS = {BUG: "bug", CALLER_HAS_LOST: "capture"}

_LOG = log.logger("capture")


def not_known(error: NotConstant) -> UnsupportedError:
    """A value that Python has to know depends on the graph."""
    value = error.args[0] if error.args else None
    if isinstance(value, OutsideValue):
        return UnsupportedError(
            value.reason.kind, repr(value), value.reason.explanation
        )
    return UnsupportedError(
        "a value that is not known while tracing",
        repr(value),
        "Python needs the value, but only the running graph computes it.",
        ("Keep the value a tensor, or compute it before the compiled function.",),
    )


def bug(error: Exception) -> UnsupportedError:
    """The interpreter itself failed, or the process had not enough for it."""
    if is_exhaustion(error):
        return exhaustion(error)
    _LOG.debug(BUG, exc_info=True)
    return UnsupportedError(
        BUG,
        f"{type(error).__name__}: {error}",
        "Please report it, with the traceback that GIRIH_LOGS=capture prints.",
    )
