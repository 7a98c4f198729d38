"""Which switches of ``torch._dynamo.config`` count for ``girih.compile``.

They are read when ``girih.compile`` is called. torch loads that module in a program
that sets one of them, or that uses torch's own compiler; girih never loads it.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Iterable
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
    changed = (n for n, default in _DEFAULTS.items() if value(n, default) != default)
    warn_once(f"torch._dynamo.config.{name}" for name in changed)
    limit = value("recompile_limit", 8)
    dynamic = False if not value("automatic_dynamic_shapes", True) else None
    return Switches(
        # A variable of the environment sets it, too, but reports go on then.
        disable=bool(value("disable", False)) and not is_disabled(),
        recompile_limit=None if limit == 8 else limit,
        dynamic=dynamic if value("assume_static_by_default", True) else True,
        fails_at_limit=bool(value("fail_on_recompile_limit_hit", False)),
    )


def warn_once(switches: Iterable[str]) -> None:
    """Warns of switches without effect, by name, unless that is done already."""
    for name in sorted({*switches} - _told):
        _told.add(name)
        text = (
            f"{name} has no effect on girih.compile; "
            f"docs/coming-from-torch-compile.md says what girih does instead"
        )
        warnings.warn(text, SwitchWarning, stacklevel=users_level())


def users_level() -> int:
    """The level of the innermost frame that is neither girih's nor torch's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("girih", "torch"):
            break
        frame, level = frame.f_back, level + 1
    return level
