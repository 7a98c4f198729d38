"""Files that replay a failure: a module, and the pipeline in their first line."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from girih.dialects.assembly.modules import print_module
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS
from girih.dialects.rule_table import FOREIGN
from girih.passes.fingerprints import fingerprint
from girih.passes.pipeline_syntax import Step, pipeline_text
from girih.passes.standalone import (
    NotStandalone,
    is_importable,
    module_of,
    place_of,
    source_of,
)

_PREFIX = "// RUN pipeline: girih-opt "
_LINE = re.compile(
    re.escape(_PREFIX)
    + r"(?P<loads>(?:--load=\S+ )*)--pass-pipeline='(?P<pipeline>.*)' %s"
)


@dataclass(frozen=True)
class Replay:
    """What failed: a module as it was, and what ran on it.

    Attributes:
        module: The IR before the first step.
        steps: The passes, mostly one; with all options.
    """

    module: ir.Operation
    steps: Sequence[Step]

    def text(self, folder: Path) -> str:
        """The content of a file of a folder that replays it."""
        body = print_module(self.module, debug_info=True)
        written = Written(self.steps, folder)
        return f"{first_line(pipeline_text(written.steps), written.loads)}\n{body}\n"

    def write(self, path: Path) -> tuple[str, ...]:
        """Writes such a file; returns what ``--load`` has to import."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text(path.parent))
        written = Written(self.steps, path.parent)
        for name, text in written.files.items():
            (path.parent / name).write_text(text)
        return written.loads

    def reasons(self, folder: Path) -> list[str]:
        """Why the file replays nothing in another process, if that is so."""
        return Written(self.steps, folder).reasons + _of_the_program(self.module)


class Written:
    """Steps as a file says them.

    Attributes:
        steps: The steps, by names that ``girih-opt`` finds.
        loads: What ``--load`` has to import for them.
        files: By name the files that must stand beside it: of passes that no module
            holds, as those of a notebook.
        reasons: Why a pass can't be written so.
    """

    def __init__(self, steps: Iterable[Step], folder: Path):
        self.steps: list[Step] = []
        self.files: dict[str, str] = {}
        self.reasons: list[str] = []
        self._folder = folder
        self._loads: dict[str, None] = {}
        for step in steps:
            self.steps.append(self._written(step))

    @property
    def loads(self) -> tuple[str, ...]:
        """What ``--load`` has to import: passes, and ops that are not girih's."""
        others = (cls.__module__ for cls in OPS.values())
        rules = (getattr(rule, "__module__", "") for rule in FOREIGN.values())
        found = {name for name in (*others, *rules) if _is_loadable(name)}
        return tuple(dict.fromkeys((*self._loads, *sorted(map(place_of, found)))))

    def _written(self, step: Step) -> Step:
        if step.info is None:
            return step
        function = step.info.function
        if is_importable(function):
            place = place_of(function.__module__)
            self._loads[place] = None
            name = f"{module_of(place)}:{function.__qualname__}"
        elif ":" not in step.name and function.__module__ == "__main__":
            text = "is registered by the program itself; put it into a module, which"
            self.reasons.append(f"{step.name} {text} --load can import")
            return step
        else:
            stem = f"girih_pass_{fingerprint(function)[:8]}"
            try:
                text, loads = source_of(function)
            except NotStandalone as error:
                reason = f"{step.info.name} can't be replayed elsewhere: {error}"
                self.reasons.append(reason)
                return step
            self.files[f"{stem}.py"] = text
            own = str(self._folder / f"{stem}.py")
            self._loads |= dict.fromkeys([*loads, own])
            name = f"{stem}:{function.__name__}"
        is_named = ":" not in step.name  # by register_pass
        return step if is_named else replace(step, name=name)


def _of_the_program(module: ir.Operation) -> list[str]:
    """A reason if the program itself defines ops or rules, not a module of its own.

    It names an op that stands in what is replayed, if one of these does.
    """
    used = set()

    def note(op: ir.Operation) -> ir.WalkResult:
        used.add(op.name)
        return ir.WalkResult.ADVANCE

    module.walk(note)
    found = [name for name, cls in OPS.items() if cls.__module__ == "__main__"]
    found.sort(key=lambda name: name not in used)
    rules = FOREIGN.items()
    found += [
        what for what, rule in rules if getattr(rule, "__module__", "") == "__main__"
    ]
    if not found:
        return []
    text = "the program itself defines"
    return [f"{text} {found[0]}; put it into a module, which --load can import"]


def _is_loadable(module: str) -> bool:
    """Whether a module defines ops or rules, and another process can import it."""
    is_others = module.partition(".")[0] not in ("", "girih", "__main__")
    return is_others and getattr(sys.modules.get(module), "__file__", None) is not None


def command(path: Path | str, loads: Sequence[str] = ()) -> str:
    """The command that replays a file, for a shell."""
    options = [f"--load={name}" for name in loads]
    return shlex.join(["girih-opt", *options, "--run-reproducer", str(path)])


def first_line(pipeline: str, loads: Iterable[str] = ()) -> str:
    """The line that holds a pipeline."""
    options = "".join(f"--load={shlex.quote(name)} " for name in loads)
    return f"{_PREFIX}{options}--pass-pipeline='{pipeline}' %s"


def pipeline_of(text: str) -> str:
    """Returns the pipeline that the first line of a reproducer holds.

    Raises:
        ValueError: The text is no reproducer.
    """
    return _first_line_of(text)["pipeline"]


def is_reproducer(text: str) -> bool:
    """Returns whether the first line of a text holds a pipeline."""
    return _LINE.fullmatch(text.partition("\n")[0]) is not None


def loads_of(text: str) -> list[str]:
    """Returns what ``--load`` has to import for the first line of a reproducer.

    Raises:
        ValueError: The text is no reproducer.
    """
    options = shlex.split(_first_line_of(text)["loads"])
    return [option.removeprefix("--load=") for option in options]


def _first_line_of(text: str) -> re.Match:
    line = text.partition("\n")[0]
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"expected a first line '{_PREFIX}...', got {line!r}")
    return found
