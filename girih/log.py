"""Loggers, ``GIRIH_LOGS``, ``TORCH_LOGS`` and ``set_logs``.

``GIRIH_LOGS=NAME[,NAME...]`` prints the named logs on stderr. ``NAMES`` lists them,
``all`` means each, and ``help`` prints the list. ``TORCH_LOGS`` counts for the names
that girih has, as do calls of ``torch._logging.set_logs`` (``girih.twins``).

What runs eager is a warning, whichever logs are on (``girih.fallbacks``); the log
``perf_hints`` has it beside the library calls.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection

from girih import config
from girih.options import unknown_name

NAMES = {
    "aot_graphs": "The graphs as MLIR: as imported, and with their derivatives.",
    "bytecode": "The code with which a function goes on after a graph break.",
    "capture": "The frames that capture leaves to Python, and girih's own bugs.",
    "compiler": "One line for each compilation: seconds of each stage, kernels, cache "
    "hits.",
    "cudagraphs": "CUDA graphs: which are recorded and replayed, and why others are "
    "not.",
    "dynamic": "Which sizes and numbers become symbolic, and what fixes them again.",
    "fusion": "The graphs as MLIR after fusion: what each kernel computes.",
    "graph_breaks": "Each graph break: the reason, the user's lines, and a way around.",
    "graph_code": "The captured graph as Python, and the code around it.",
    "guards": "The guards of each cache entry.",
    "kernel_code": "The kernels as LLVM's or Triton's IR.",
    "output_code": "What a call runs: the launches of kernels and the ATen calls.",
    "perf_hints": "What no kernel computes: library calls and eager runs, with the "
    "user's lines.",
    "recompiles": "The guards that failed, with values, when girih compiles a function "
    "again.",
    "schedule": "The kernels with their tiles and loops.",
}
"""By the name of each log what girih writes to it."""

_TORCHS = {
    "aot_joint_graph": "aot_graphs",
    "graph": "graph_code",
    "recompiles_verbose": "recompiles",
}
"""torch's names for a log that has another one here."""

_LOGS_OF_LEVELS = {
    "imported": "aot_graphs",
    "graph": "aot_graphs",
    "derivatives": "aot_graphs",
    "fused": "fusion",
    "host": "output_code",
    "tile": "schedule",
    "llvm": "kernel_code",
    "ttir": "kernel_code",
}
"""By the name of a level of IR the log that shows it."""


class _Handler(logging.StreamHandler):
    """Prints on what ``sys.stderr`` is at that time: notebooks replace it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("[%(name)s] %(message)s"))

    @property
    def stream(self):
        return sys.stderr


_handler = _Handler()

_asked_of: dict[str, set[str]] = {"girih": set(), "torch": set()}
"""By whose function or variable asks for them the logs that are on."""


def logger(name: str) -> logging.Logger:
    """The logger ``girih.<name>``; ``name`` is one of ``NAMES``."""
    assert name in NAMES, f"girih bug: no log is named {name!r}"
    return logging.getLogger(f"girih.{name}")


def set_logs(**wanted: bool | int) -> None:
    """Switches logs on or off, as ``GIRIH_LOGS`` does, which it replaces.

    Args:
        wanted: By the name of a log, or ``all``, whether girih prints it on stderr. A
            level of ``logging`` up to ``logging.INFO`` means so, too. torch's names
            of girih's logs count. Logs that are not named are off.

    Raises:
        TypeError: A value is neither a bool nor a level.
        ValueError: A name is not known.
    """
    known = [*NAMES, "all"]
    for name, value in wanted.items():
        if name not in (*known, *_TORCHS):
            raise ValueError(_unknown(name, known))
        if not isinstance(value, int):
            raise TypeError(
                f"{name} must be True, False or a level of logging, got {value!r}"
            )
    every = _is_wanted(wanted.pop("all", False))
    given = {_TORCHS.get(name, name): value for name, value in wanted.items()}
    found = {name for name in NAMES if _is_wanted(given.get(name, every))}
    _asked_of.update(girih=found, torch=set())
    _switch(found)


def follow_torch(**wanted: object) -> None:
    """Switches the logs that a call of ``torch._logging.set_logs`` names.

    What girih was asked for stays on. torch ignores the call if ``TORCH_LOGS`` is set.
    """
    if config.torchs_logs():
        return
    names = {_TORCHS.get(name, name) for name, on in wanted.items() if _is_wanted(on)}
    _asked_of["torch"] = names & NAMES.keys()
    _switch(_asked_of["girih"] | _asked_of["torch"])


def _is_wanted(value: object) -> bool:
    """Whether a value of ``set_logs`` means that a log is printed."""
    if isinstance(value, bool) or not isinstance(value, int):
        return value is True
    return value <= logging.INFO


def _unknown(name: str, known: list[str]) -> str:
    """The text for a name that is no log of girih."""
    theirs = sys.modules["torch"]._logging._internal.log_registry
    if theirs.is_log(name) or theirs.is_artifact(name) or name == "modules":
        return (
            f"girih has no log {name!r}, which is one of torch's own compiler "
            f"(torch._logging.set_logs switches it); valid: {', '.join(known)}"
        )
    return unknown_name("log", name, known)


def _switch(names: Collection[str]) -> None:
    for name in NAMES:
        log = logging.getLogger(f"girih.{name}")
        log.removeHandler(_handler)
        is_on = name in names
        log.setLevel(logging.DEBUG if is_on else logging.NOTSET)
        log.propagate = not is_on
        if is_on:
            log.addHandler(_handler)


def configure() -> None:
    """Switches on the logs that ``GIRIH_LOGS`` and ``TORCH_LOGS`` name.

    Raises:
        ValueError: A name in ``GIRIH_LOGS`` is not known.
    """
    theirs = (name.lstrip("+") for name in config.torchs_logs())
    of_torch = {_TORCHS.get(name, name) for name in theirs} & NAMES.keys()
    found: set[str] = set()
    for name in config.logs():
        if name == "help":
            print(help_text(), file=sys.stderr)
        elif name == "all":
            found.update(NAMES)
        elif name in NAMES:
            found.add(name)
        else:
            known = [*NAMES, "all", "help"]
            raise ValueError(unknown_name("log in GIRIH_LOGS", name, known))
    _asked_of.update(girih=found, torch=of_torch)
    if found or of_torch:
        _switch(found | of_torch)


def help_text() -> str:
    """The names of the logs, and what each shows."""
    lines = [f"  {name:13} {meaning}" for name, meaning in NAMES.items()]
    head = "GIRIH_LOGS=NAME[,NAME...] prints logs of girih on stderr:"
    return "\n".join([head, *lines, f"  {'all':13} Each of them."])


def shows_level(level: str) -> bool:
    """Whether a log shows a level of IR."""
    name = _LOGS_OF_LEVELS.get(level)
    return name is not None and logger(name).isEnabledFor(logging.DEBUG)


def shows_code() -> bool:
    """Whether a log shows IR of kernels, which must not come from a cache then."""
    return any(shows_level(level) for level in ("tile", "llvm", "ttir"))


def shows_levels() -> bool:
    """Whether a log shows any IR, which must be there then."""
    return any(map(shows_level, _LOGS_OF_LEVELS))


def show_level(level: str, program: str, text: object) -> None:
    """Logs a level of IR of a program, if a log shows it."""
    if shows_level(level):
        logger(_LOGS_OF_LEVELS[level]).debug("%s, %s:\n%s", program, level, text)
