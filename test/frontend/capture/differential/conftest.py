"""Makes the package importable, and prints what was captured."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from differential import coverage  # noqa: E402


def pytest_terminal_summary(terminalreporter):
    if coverage.captured:
        terminalreporter.section("programs captured")
        for line in coverage.lines():
            terminalreporter.line(line)
