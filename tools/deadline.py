"""A plugin of pytest: no test starts after a time, and what happened is written down.

    pytest -p girih.tools.deadline --deadline SECONDS_SINCE_1970 --events FILE

Each line of the file is one event in JSON, written when it happens: whoever stops
pytest still knows what has failed, and what was never tried.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest


def pytest_addoption(parser: Any) -> None:
    """The two options."""
    parser.addoption("--deadline", type=float, default=float("inf"))
    parser.addoption("--events")


def pytest_configure(config: Any) -> None:
    """The process that the others report to writes."""
    path = config.getoption("--events")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(EventWriter(path))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> bool | None:
    """Passes over a test when the time is up: it has no reports then."""
    return True if time.time() > item.config.getoption("--deadline") else None


class EventWriter:
    """Writes an event for each test that is found, starts, fails and ends."""

    def __init__(self, path: str):
        self._file = open(path, "w", buffering=1)

    def _write(self, event: str, **what: Any) -> None:
        print(json.dumps({"event": event, **what}), file=self._file)

    def pytest_collection_finish(self, session: Any) -> None:
        """Of a single process."""
        self._write("found", tests=[item.nodeid for item in session.items])

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Of each of several processes; all find the same."""
        self._write("found", tests=list(ids))

    def pytest_collectreport(self, report: Any) -> None:
        """Files that can't be imported."""
        if report.failed:
            self._write("failed", test=report.nodeid)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._write("started", test=nodeid, time=time.time())

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of a test is over; the last one ends it."""
        if report.failed:
            self._write("failed", test=report.nodeid)
        if report.when == "teardown":
            self._write("ended", test=report.nodeid)

    def pytest_unconfigure(self) -> None:
        """Nothing follows."""
        self._file.close()
