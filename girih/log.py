"""Loggers and ``GIRIH_LOGS``.

``GIRIH_LOGS=NAME[,NAME...]`` prints the named logs on stderr:

===============  ==============================================================
``capture``      frames that are captured, skipped and compiled again
``compiler``     one line per compilation: seconds per stage, kernels, cache hits
``graph_code``   the captured graph as Python
``guards``       the guards of each cache entry
``all``          everything
===============  ==============================================================
"""

from __future__ import annotations

import logging
import sys

from girih import config

NAMES = ("capture", "compiler", "graph_code", "guards")


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
    unknown = sorted(set(wanted) - {*NAMES, "all"})
    if unknown:
        known = ", ".join([*NAMES, "all"])
        raise ValueError(f"GIRIH_LOGS names {unknown}; the logs are: {known}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
    for name in NAMES if "all" in wanted else wanted:
        log = logging.getLogger(f"girih.{name}")
        log.setLevel(logging.DEBUG)
        log.addHandler(handler)
        log.propagate = False
