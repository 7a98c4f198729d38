"""Hooks: what their handles do."""

from __future__ import annotations

from torch.utils.hooks import RemovableHandle

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import Value


@models(RemovableHandle.remove)
def _remove(tracer, handle: Value):
    """Left to Python where each call may bring another handle.

    The handle finds its hook by a number that no other handle has, so code that
    contains the number would fit no other call. A handle that is no local variable is
    the same at each call, and is followed.
    """
    source = getattr(handle, "source", None)
    is_given = source is not None and source.root().access == "local"
    if not is_given or not tracer.blocks.may_break:
        return
    unsupported(
        kind="removal of a hook",
        context=str(source),
        explanation=(
            "The handle's number tells which hook it removes, and the number is "
            "another at each call. Python removes the hook."
        ),
        hints=("Register the hook once, outside of the compiled function.",),
    )
