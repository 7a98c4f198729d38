"""Loggers and ``GIRIH_LOGS``.

``GIRIH_LOGS=NAME[,NAME...]`` prints the named logs on stderr:

================  =============================================================
``bytecode``      the code that is made to go on after a graph break
``capture``       what capture does: frames that run as they were, and girih's bugs
``compiler``      one line per compilation: seconds per stage, kernels, cache hits
``graph_breaks``  each graph break: what, why, the user's lines, what would avoid it
``graph_code``    the captured graph as Python, and the code around it
``guards``        the guards of each cache entry
``recompiles``    why a function is compiled again: the guards that failed, with values
``all``           everything
================  =============================================================

What runs eager is no matter of logs: that is a warning (``girih.fallbacks``).
"""

from __future__ import annotations

import logging
import sys

from girih import config
from girih.options import unknown_name

NAMES = (
    "bytecode",
    "capture",
    "compiler",
    "graph_breaks",
    "graph_code",
    "guards",
    "recompiles",
)


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
