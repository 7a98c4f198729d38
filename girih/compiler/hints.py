"""The log ``perf_hints``: what of a program no kernel computes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from girih.log import logger
from girih.reports import Report

if TYPE_CHECKING:
    from girih.codegen.runtime.event import Event

_log = logger("perf_hints")


def log_library_calls(report: Report) -> None:
    """Logs which operations of a program are calls of libraries, and of which lines."""
    if not _log.isEnabledFor(logging.INFO):
        return
    lines = [_line(event) for event in _calls(report.events)]
    if not lines:
        return
    calls = "1 library call" if len(lines) == 1 else f"{len(lines)} library calls"
    kernels = "1 kernel" if report.kernels == 1 else f"{report.kernels} kernels"
    text = "\n  ".join([f"{calls} beside {kernels}:", *lines])
    _log.info("%s: %s", report.name, text)


def _calls(events: tuple[Event, ...]) -> Iterator[Event]:
    for event in events:
        if event.kind == "call":
            yield event
        yield from _calls(event.parts)


def _line(event: Event) -> str:
    asked = f" for {event.operations}" if event.operations else ""
    where = ", ".join(f"{place.file}:{place.line}" for place in event.places)
    return f"{event.name}{asked}" + (f", {where}" if where else "")
