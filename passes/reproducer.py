"""Files that replay a failure: a module, and the pipeline in their first line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from girih.dialects.bindings import ir
from girih.passes.pipeline_syntax import Step, pipeline_text

_PREFIX = "// RUN pipeline: girih-opt --pass-pipeline="
_SUFFIX = " %s"


@dataclass(frozen=True)
class Replay:
    """What failed: a module as it was, and what ran on it.

    Attributes:
        module: The IR in front of the first step.
        steps: The passes, mostly one; with all options.
        loads: Modules or files that define passes, for ``--load``.
    """

    module: ir.Operation
    steps: Sequence[Step]
    loads: tuple[str, ...] = ()

    def text(self) -> str:
        """The content of a file that replays it."""
        body = self.module.get_asm(enable_debug_info=True)
        return f"{first_line(pipeline_text(list(self.steps)))}\n{body}\n"

    def write(self, path: Path) -> Path:
        """Writes such a file; returns its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text())
        return path


def command(path: Path | str, loads: Sequence[str] = ()) -> str:
    """The command that replays a file, for a shell."""
    options = [f"--load={name}" for name in loads]
    return shlex.join(["girih-opt", *options, "--run-reproducer", str(path)])


def place_of(module_name: str) -> str:
    """What ``--load`` takes for a module: its name, or the file of a program."""
    if module_name != "__main__":
        return module_name
    return getattr(sys.modules["__main__"], "__file__", None) or module_name


def first_line(pipeline: str) -> str:
    """The line that holds a pipeline."""
    return f"{_PREFIX}'{pipeline}'{_SUFFIX}"


def pipeline_of(text: str) -> str:
    """Returns the pipeline that the first line of a reproducer holds.

    Raises:
        ValueError: The text is no reproducer.
    """
    line = text.partition("\n")[0]
    if not (line.startswith(_PREFIX) and line.endswith(_SUFFIX)):
        raise ValueError(f"expected a first line '{_PREFIX}...', got {line!r}")
    return line[len(_PREFIX) : -len(_SUFFIX)].strip("'")
