"""Programs in the documents, and what the documents say that they print.

``python test/support/documents.py FILE...`` writes what they print now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

_EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\nprints\n)?\n```text\n(.*?)```", re.S)
_LOGS = re.compile(r"# GIRIH_LOGS=(\S+)\n")


def examples(document: Path) -> list[tuple[str, str]]:
    """Pairs of a program and its output."""
    return _EXAMPLE.findall(document.read_text())


def output_of(program: str, folder: Path) -> str:
    """What a program prints and logs, with times and folders left out.

    Its first line may be a comment that names logs: ``# GIRIH_LOGS=guards``.
    """
    logs = _LOGS.match(program)
    file = folder / "example.py"
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, "-u", str(file)],
        env={**os.environ, "GIRIH_LOGS": logs[1] if logs else ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.replace(f"{folder}{os.sep}", "")


def stable_part(text: str) -> str:
    """The text without times, and without the guards of ``explain``.

    Which guards there are, and their order, is no promise of the page.
    """
    text = re.sub(r"\d+\.\d+( us| ms|,|\))", r"0.0\1", text)
    return re.sub(r"  \d+ guards, 0.0 us a call\n(    .*\n)*", "", text)


def renew(document: Path) -> None:
    """Runs the programs of a document and writes what they print into it."""

    def with_output(match: re.Match) -> str:
        with tempfile.TemporaryDirectory() as folder:
            printed = output_of(match[1], Path(folder))
        head = match[0][: match.start(2) - match.start()]
        return f"{head}{printed.rstrip()}\n```"

    document.write_text(_EXAMPLE.sub(with_output, document.read_text()))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(Path(name))
