"""Files that show a fault again, and the commands that do."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import join
from typing import Any

import torch

from girih.bisection.dumped import program_of_file
from girih.bisection.found import Culprit
from girih.bisection.recording import Snapshot
from girih.bisection.reduction import Reduced
from girih.bisection.search import Fault, first_fault
from girih.bisection.values import Given
from girih.dialects.assembly.modules import print_module
from girih.passes.pipeline_syntax import pipeline_text
from girih.passes.reproducer import Written, command, first_line
from girih.private_folder import replace_text
from girih.running.api import Loaded
from girih.running.command import difference
from girih.tools.loading import load_file

FILE = "repro.mlir"
"""The name of the file with the ops."""

FOLDER = "girih-bisect"
"""Where files go by default."""


def fresh_folder() -> Path:
    """The folder where files go by default, numbered if there is one already."""
    others = (Path(f"{FOLDER}-{number}") for number in itertools.count(2))
    paths = itertools.chain([Path(FOLDER)], others)
    return next(path for path in paths if not path.exists())


def write(fault: Fault, found: Reduced, folder: Path, culprit: Culprit) -> None:
    """Writes the files, and notes them and the commands that show the fault.

    Args:
        fault: The fault.
        found: Ops that show it.
        folder: Where the files go; it is made.
        culprit: Gets ``files``, ``commands`` and ``notes``.

    Raises:
        OSError: The files can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    # What only code gets wrong needs no passes of its own: girih-run runs all.
    steps = found.steps if fault.after is not None else []
    written = Written(steps, folder)
    expected = list(found.expected.values())
    torch.save(found.part.given.list, folder / "inputs.pt")
    torch.save(expected, folder / "expected.pt")
    for name, text in written.files.items():
        replace_text(folder / name, text)
    run = ["--inputs", "%S/inputs.pt", "--compare", "%S/expected.pt"]
    lines = [first_line(pipeline_text(written.steps), written.loads)] if steps else []
    loads = [f"--load={name}" for name in written.loads]
    runs = ["girih-run", *loads, "%s", *run]
    told = [f"// {line}" for line in _told(culprit, found)]
    body = [*told, print_module(found.part.module).strip(), ""]

    def put(test: Sequence[str]) -> None:
        test_lines = [f"// RUN: not {join(test)}"] if test else []
        replace_text(path, "\n".join([*lines, *test_lines, *body]))

    put(runs)
    names = [path, folder / "inputs.pt", folder / "expected.pt"]
    culprit.files = [*names, *(folder / name for name in written.files)]
    culprit.notes += written.reasons
    if steps:
        culprit.commands.append(command(path, written.loads))
    files = [str(folder / "inputs.pt"), "--compare", str(folder / "expected.pt")]
    with _loaded([folder / name for name in written.files]):
        is_wrong = _runs_wrong(path, found.part.given, expected)
        if is_wrong:
            given = ["girih-run", *loads, str(path), "--inputs", *files]
            culprit.commands.append(join(given))
        is_found = _is_found_again(path, found.part.given)
        if is_found:
            culprit.commands.append(join(["girih-bisect", *loads, str(folder)]))
    if not is_wrong:  # As in training: girih-run would fail for another reason.
        found_again = ["girih-bisect", *loads, "%S", "--folder", "%t"]
        put(found_again if is_found else [])


@contextmanager
def _loaded(files: Sequence[Path]) -> Iterator[None]:
    """In the block, passes in files have the names that ``--load`` gives them.

    A file that can't be loaded is left out: its passes are not found.
    """
    for path in files:
        with suppress(Exception):
            load_file(path)
    try:
        yield
    finally:
        for path in files:
            sys.modules.pop(path.stem, None)


def _told(culprit: Culprit, found: Reduced) -> list[str]:
    """What a reader of the file gets to know: the ops' own numbers."""
    passes = " or ".join(culprit.passes) or culprit.stage
    lines = [f"Wrong after {passes}:"]
    lines += [f"  {name}: {how}" for name, how in found.differences.items()]
    if culprit.decision:
        lines.append(f"Decision: {culprit.decision}")
    return lines


def _runs_wrong(path: Path, given: Given, expected: Sequence[Any]) -> bool:
    """Whether the file shows the fault when it is run."""
    try:
        results = Loaded(path)(*given.copies())
    except Exception:
        return False
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != len(expected):
        return False
    pairs = zip(results, expected, strict=True)
    return not all(difference(one, other)[1] for one, other in pairs)


def _is_found_again(path: Path, given: Given) -> bool:
    """Whether a bisection of the folder finds a fault."""
    try:
        program = program_of_file(path, given)
        snapshots: list[Snapshot] = program.snapshots
        executed = None if snapshots[0].is_joint else program.executed
        return first_fault(program, snapshots, given, executed) is not None
    except Exception:
        return False
