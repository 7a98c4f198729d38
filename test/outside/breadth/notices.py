"""What girih says while a model runs, and which of its graphs run as eager."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import girih

LONGEST = 300


class _Listener(logging.Handler):
    def __init__(self, heard: list[str]):
        super().__init__(logging.WARNING)
        self.heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


@contextmanager
def notices() -> Iterator[list[str]]:
    """Gathers girih's log records and warnings of the block, each once, in order."""
    heard: list[str] = []
    listener, logger = _Listener(heard), logging.getLogger("girih")
    logger.addHandler(listener)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield heard
    finally:
        logger.removeHandler(listener)
        heard += [str(w.message) for w in caught if "girih" in str(w.message)]
        heard[:] = list(dict.fromkeys(_shortened(text) for text in heard))


def fallbacks(compiled: Callable) -> list[str]:
    """Why graphs of a compiled callable run as eager, forward or backward."""
    reports = [
        r for graph in girih.report(compiled).graphs for r in graph.and_derived()
    ]
    return [_shortened(r.fallback) for r in reports if r.fallback is not None]


def _shortened(text: str) -> str:
    text = " | ".join(line.strip() for line in text.splitlines() if line.strip())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
