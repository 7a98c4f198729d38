"""Loggers and ``GIRIH_LOGS``.

``GIRIH_LOGS=NAME[,NAME...]`` prints the named logs on stderr. ``NAMES`` lists them, and
``all`` means each.

What runs eager is no matter of logs: that is a warning (``girih.fallbacks``).
"""

from __future__ import annotations

import logging
import sys

from girih import config
from girih.options import unknown_name

NAMES = {
    "bytecode": "The code with which a function goes on after a graph break.",
    "capture": "The frames that capture leaves to Python, and girih's own bugs.",
    "compiler": "One line for each compilation: seconds of each stage, kernels, cache "
    "hits.",
    "graph_breaks": "Each graph break: the reason, the user's lines, and a way around.",
    "graph_code": "The captured graph as Python, and the code around it.",
    "guards": "The guards of each cache entry.",
    "recompiles": "The guards that failed, with values, when girih compiles a function "
    "again.",
}
"""By the name of each log what girih writes to it."""


def logger(name: str) -> logging.Logger:
    """The logger ``girih.<name>``; ``name`` is one of ``NAMES``."""
    assert name in NAMES, f"girih bug: no log is named {name!r}"
    return logging.getLogger(f"girih.{name}")


def configure() -> None:
    """Switches on the logs that ``GIRIH_LOGS`` names.

    Raises:
        ValueError: A name is not known.
    """
    wanted = config.logs()
    if not wanted:
        return
    for name in wanted:
        if name not in (*NAMES, "all"):
            raise ValueError(unknown_name("log in GIRIH_LOGS", name, [*NAMES, "all"]))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
    for name in NAMES if "all" in wanted else wanted:
        log = logging.getLogger(f"girih.{name}")
        log.setLevel(logging.DEBUG)
        log.addHandler(handler)
        log.propagate = False
