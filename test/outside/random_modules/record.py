"""What a run saw, as JSON that grows while it runs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from random_modules.run import Failure, Totals


class Record:
    """A file with the totals of a run and its failures; None where none is wanted."""

    def __init__(self, path: Path | None, first: int, count: int, totals: Totals):
        self.path, self.totals = path, totals
        self.started = time.monotonic()
        self.content: dict[str, Any] = {"first": first, "count": count}
        self.failures: list[dict[str, Any]] = []
        self._write(has_ended=False)

    def add(self, failure: Failure, shrunk: Failure) -> None:
        """Notes a failure, as drawn and shrunk."""
        self.failures.append(
            {
                "seed": failure.seed,
                "kind": failure.verdict.kind,
                "detail": failure.verdict.detail,
                "output": failure.output,
                "drawn": failure.text,
                "shrunk": shrunk.text,
                "shrunk_detail": shrunk.verdict.detail,
            }
        )
        self._write(has_ended=False)

    def end(self) -> None:
        """Says that no more will come."""
        self._write(has_ended=True)

    def _write(self, has_ended: bool) -> None:
        """All of it, by a rename: readers see a whole file."""
        if self.path is None:
            return
        content = {
            **self.content,
            "has_ended": has_ended,
            "programs": self.totals.programs,
            "seconds": round(time.monotonic() - self.started, 1),
            "cpu_seconds": round(_cpu_seconds(), 1),
            "kinds": dict(self.totals.kinds.most_common()),
            "refused": dict(self.totals.refused.most_common()),
            "failures": self.failures,
        }
        temporary = self.path.with_name(f"{self.path.name}.part")
        temporary.write_text(json.dumps(content, indent=1), encoding="utf-8")
        temporary.replace(self.path)


def _cpu_seconds() -> float:
    """Of this process and of the children that have ended."""
    return sum(os.times()[:4])
