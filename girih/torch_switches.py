"""Which switches of torch's compiler count for ``girih.compile``.

Those of ``torch._dynamo.config`` and ``torch._inductor.config`` are read when
``girih.compile`` is called. torch loads these modules in a program that sets one of
them, or that uses torch's own compiler; girih never loads them.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Container
from typing import NamedTuple

from girih.config import is_disabled
from girih.errors import SwitchWarning

_BREAKS = "a call of print or a logger breaks the graph, and runs as in eager mode"
_NUMBERS = "with dynamic=False each number is a constant"

_WITHOUT_EFFECT = {
    "accumulated_recompile_limit": (
        256,
        "8 times recompile_limit holds for each function",
    ),
    "capture_dynamic_output_shape_ops": (
        False,
        "a size that depends on data breaks the graph",
    ),
    "capture_scalar_outputs": (False, "a call of item() breaks the graph"),
    "compiled_autograd": (
        False,
        "girih writes the backward pass where it compiles the forward pass; compile a "
        "function that calls torch.autograd.grad to have both in one graph",
    ),
    "ignore_logging_functions": (set(), _BREAKS),
    "reorderable_logging_functions": (set(), _BREAKS),
    "specialize_float": (False, _NUMBERS),
    "specialize_int": (False, _NUMBERS),
}
"""Switches without effect in girih: torch's default, and what girih does instead."""

_SET_BY_TORCH = ("deterministic",)
"""Switches that ``torch.use_deterministic_algorithms`` sets, besides private ones."""

_told: set[str] = set()


class Switches(NamedTuple):
    """What torch's switches say.

    Attributes:
        disable: Whether functions stay as they are.
        recompile_limit: Most entries of one function; None where it is torch's default.
        dynamic: What ``dynamic=None`` means.
        fails_at_limit: Whether a call beyond the limit is an error.
        fails_at_recompile: Whether a call is an error that fits no entry, where there
            are entries.
    """

    disable: bool = False
    recompile_limit: int | None = None
    dynamic: bool | None = None
    fails_at_limit: bool = False
    fails_at_recompile: bool = False


def switches(options: Container[str] | None) -> Switches:
    """What torch's switches say now; warns, once each, of those without effect.

    Args:
        options: The names of girih's options, also torch's ones. None where another
            backend compiles the graphs, for which Inductor's switches may count.
    """
    if options is not None:
        _tell_of_inductors(options)
    config = sys.modules.get("torch._dynamo.config")
    if config is None:
        return Switches()

    value = functools.partial(getattr, config)
    for name, (default, instead) in _WITHOUT_EFFECT.items():
        if value(name, default) != default:
            warn_once(f"torch._dynamo.config.{name}", instead)
    limit = value("recompile_limit", 8)
    dynamic = False if not value("automatic_dynamic_shapes", True) else None
    return Switches(
        # A variable of the environment sets it, too, but reports go on then.
        disable=bool(value("disable", False)) and not is_disabled(),
        recompile_limit=None if limit == 8 else limit,
        dynamic=dynamic if value("assume_static_by_default", True) else True,
        fails_at_limit=bool(value("fail_on_recompile_limit_hit", False)),
        fails_at_recompile=bool(value("error_on_recompile", False)),
    )


def _tell_of_inductors(options: Container[str]) -> None:
    """Warns, once each, of switches of Inductor that the program has set."""
    config = sys.modules.get("torch._inductor.config")
    for name in () if config is None else tuple(config._config):
        is_private = name.startswith("_") or name in _SET_BY_TORCH
        if is_private or config._is_default(name):
            continue
        if name in options:
            instead = f"give girih.compile options={{{name!r}: ...}}"
        else:
            instead = "it is for backend='inductor'"
        warn_once(f"torch._inductor.config.{name}", instead)


def warn_once(name: str, instead: str) -> None:
    """Warns of a switch without effect, unless that is done already.

    Args:
        name: The switch, as a program writes it.
        instead: What girih does, or the program can do, instead.
    """
    if name in _told:
        return
    _told.add(name)
    text = (
        f"{name} has no effect on girih.compile: {instead} "
        f"(docs/coming-from-torch-compile.md)"
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
