"""Which switches of ``torch._dynamo.config`` count for ``girih.compile``.

They are read when ``girih.compile`` is called. torch loads that module in a program
that sets one of them, or that uses torch's own compiler; girih never loads it.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import NamedTuple

from girih.config import is_disabled
from girih.errors import SwitchWarning

_DEFAULTS = {
    "accumulated_recompile_limit": 256,
    "capture_dynamic_output_shape_ops": False,
    "capture_scalar_outputs": False,
    "specialize_float": False,
    "specialize_int": False,
}
"""Switches without effect in girih, each with torch's default."""

_told: set[str] = set()


class Switches(NamedTuple):
    """What torch's switches say.

    Attributes:
        disable: Whether functions stay as they are.
        recompile_limit: Most entries of one function; None where it is torch's default.
        dynamic: What ``dynamic=None`` means.
        fails_at_limit: Whether a call beyond the limit is an error.
    """

    disable: bool = False
    recompile_limit: int | None = None
    dynamic: bool | None = None
    fails_at_limit: bool = False


def switches() -> Switches:
    """What torch's switches say now; warns, once each, of those without effect."""
    config = sys.modules.get("torch._dynamo.config")
    if config is None:
        return Switches()

    value = functools.partial(getattr, config)
    _tell({n for n, default in _DEFAULTS.items() if value(n, default) != default})
    limit = value("recompile_limit", 8)
    dynamic = False if not value("automatic_dynamic_shapes", True) else None
    return Switches(
        # A variable of the environment sets it, too, but reports go on then.
        disable=bool(value("disable", False)) and not is_disabled(),
        recompile_limit=None if limit == 8 else limit,
        dynamic=dynamic if value("assume_static_by_default", True) else True,
        fails_at_limit=bool(value("fail_on_recompile_limit_hit", False)),
    )


def _tell(names: set[str]) -> None:
    for name in sorted(names - _told):
        _told.add(name)
        text = (
            f"torch._dynamo.config.{name} has no effect on girih.compile; "
            f"docs/coming-from-torch-compile.md says what girih does instead"
        )
        warnings.warn(text, SwitchWarning, stacklevel=4)
