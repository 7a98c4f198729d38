"""Workers that are started, watched and replaced, so that every case gets its row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gpu.attempts import Row
from benchmarks.gpu.engines import NO_FALLBACK
from benchmarks.gpu.worker import PREFIX

ROOT = Path(__file__).resolve().parents[2]
WORKER = "benchmarks.gpu.worker"
_SHOWN = 600


@dataclass(frozen=True)
class Settings:
    """What all workers of a run are told.

    Attributes:
        device: As torch spells it.
        mode: Of the compilers.
        engines: Which take part, eager first.
        quick: Fewer rounds.
        small: Sizes of unit tests.
        silence: Seconds without a message after which a worker is ended.
    """

    device: str = "cuda"
    mode: str = "default"
    engines: tuple[str, ...] = ("eager", "inductor", "girih")
    quick: bool = False
    small: bool = False
    silence: float = 150.0

    def arguments(self, engines: Sequence[str] | None = None) -> list[str]:
        """For the command line of a worker."""
        flags = [f"--{name}" for name in ("quick", "small") if getattr(self, name)]
        chosen = ",".join(engines or self.engines)
        common = ["--device", self.device, "--mode", self.mode]
        return [*common, "--engines", chosen, *flags]


def rows(
    part: str,
    names: Sequence[str],
    settings: Settings,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Row]:
    """A row for each name; what a worker that died had at hand is a failure in it."""
    remaining, failures = list(names), {}
    while remaining:
        known = ["--failures", json.dumps(failures)]
        worker = _Worker(
            [part, *remaining, *settings.arguments(), *known],
            settings.silence,
            environment,
        )
        for row in worker.rows():
            yield row
            remaining.remove(row["case"])
        if remaining:
            failed = failures.setdefault(remaining[0], {})
            failed[worker.engine_of(remaining[0])] = worker.last_words()
            if "" in failed:  # not an engine, but the case itself
                yield {"case": remaining.pop(0), "failures": failed}


def cold_compile(
    name: str, engine: str, settings: Settings, environment: Mapping[str, str]
) -> float | None:
    """Seconds of a compilation in a fresh process, or None where it failed."""
    arguments = ["cold", name, *settings.arguments([engine])]
    worker = _Worker(arguments, settings.silence, environment)
    for row in worker.rows():
        return row["compile_seconds"]
    print(worker.last_words(), file=sys.stderr)
    return None


class _Worker:
    """One process, and what it said last."""

    def __init__(
        self,
        arguments: Sequence[str],
        silence: float,
        environment: Mapping[str, str] | None,
    ):
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", WORKER, *arguments],
            cwd=ROOT,
            env={**os.environ, **NO_FALLBACK, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._silence = silence
        self._at: tuple[str, str] = ("", "")
        self._is_silent = False

    def rows(self) -> Iterator[Row]:
        """The rows that it sends, until it ends."""
        watch = self._watch()
        for line in self._process.stdout:
            watch.cancel()
            watch = self._watch()
            if line.startswith(PREFIX):
                message = json.loads(line.removeprefix(PREFIX))
                if "row" in message:
                    yield message["row"]
                else:
                    self._at = message["case"], message["engine"]
        watch.cancel()
        self._process.wait()

    def _watch(self) -> threading.Timer:
        watch = threading.Timer(self._silence, self._end)
        watch.daemon = True
        watch.start()
        return watch

    def _end(self) -> None:
        self._is_silent = True
        self._process.kill()

    def engine_of(self, case: str) -> str:
        """The engine that was at work on a case; empty where it was none."""
        return self._at[1] if self._at[0] == case else ""

    def last_words(self) -> str:
        """Why it ended, with the end of what it wrote on stderr."""
        self._errors.seek(0)
        text = self._errors.read()[-_SHOWN:]
        if self._is_silent:
            return f"no answer within {self._silence:.0f} s: {text}"
        return f"the process ended with {self._process.returncode}: {text}"
