"""Programs of a dump folder: the IR of each file, and after each pass between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from girih.bisection.recording import Executed, Program, Snapshot
from girih.bisection.values import Given, argument_names, attributes_of, main_of
from girih.compiler.first_inputs import FILE as INPUTS
from girih.compiler.modules import cloned, functions_of
from girih.dialects import context, keys
from girih.dialects.assembly.modules import read_text
from girih.dialects.bindings import ir
from girih.options import make_options
from girih.passes import reproducer
from girih.passes.pipeline_syntax import Step
from girih.passes.registry import (
    expand_pipeline,
    info_of_step,
    is_foreign,
    run_pipeline,
)
from girih.passes.stages import PIPELINES, PROGRAMS
from girih.running.api import Loaded
from girih.running.made import random_values
from girih.tools.reading import module_of

_STAGES = {
    step.partition("{")[0]: stage.name
    for stages in PIPELINES.values()
    for stage in stages
    for step in [stage.passes]
}


def programs_of_folder(folder: Path) -> list[tuple[Program, str]]:
    """The programs of a dump folder, or the one of its folder for one program.

    Args:
        folder: What ``dump_dir`` named, or a folder in it.

    Returns:
        Each with a sentence on its inputs.

    Raises:
        ValueError: There is no IR.
    """
    folders = [folder, *sorted(each for each in folder.iterdir() if each.is_dir())]
    found = [_program(each) for each in folders if _files(each)]
    if not found:
        raise ValueError(f"expected files of IR in {folder}, got none")
    return found


def program_of_file(path: Path, given: Given) -> Program:
    """The program of one file: the passes of its first line run."""
    return _made([path], given)


def missing_loads(folder: Path, given: Sequence[str]) -> list[str]:
    """What the first lines of a dump's files load besides what is given."""
    found: dict[str, None] = {}
    for path in sorted(folder.glob("**/*.mlir")):
        with suppress(ValueError):  # it is no text
            text = read_text(path)
            if reproducer.is_reproducer(text):
                found |= dict.fromkeys(reproducer.loads_of(text))
    return [name for name in found if name not in given]


def _files(folder: Path) -> list[Path]:
    """The files of IR, in the order in which they were written."""

    def number(path: Path) -> int:
        found = re.match(r"\d+", path.name)
        return int(found[0]) if found else 0

    return sorted(folder.glob("*.mlir"), key=number)


def _program(folder: Path) -> tuple[Program, str]:
    files = _files(folder)
    path = folder / INPUTS
    if path.exists():
        values = torch.load(path, weights_only=True, map_location="cpu")
        about = f"{folder.name}: inputs of {path}"
    else:
        arguments = Loaded(files[0]).arguments
        values = random_values(arguments, 0, "cpu")
        about = f"{folder.name}: random inputs; dump_inputs=True would save real ones"
    return _made(files, Given(values)), about


def _made(files: list[Path], given: Given) -> Program:
    is_joint = any(path.name.endswith("-derivatives.mlir") for path in files)
    program = Program(files[0].parent.name, options=make_options({}))
    for path in files:
        text = read_text(path)
        with (shared := context.shared()), ir.Location.unknown():
            module = module_of(text, shared, str(path))
            kind = _kind(module, is_joint)
            if kind != "joint":
                is_joint = False
            program.snapshots.append(Snapshot(kind, (), cloned(module), str(path)))
            if not given.names and kind != "joint":
                names = argument_names(main_of(module))
                given.names = names if len(names) == len(given.list) else []
            if reproducer.is_reproducer(text):
                steps = expand_pipeline(reproducer.pipeline_of(text))
                _run(program, module, kind, steps)
                if is_joint and path.name.endswith("-derivatives.mlir"):
                    is_joint = False
        if path.name.endswith("-derivatives.mlir"):
            is_joint = False
    program.executed = Executed(given, [], [])
    _execute(program, files[-1])
    return program


def _kind(module: ir.Module, is_joint: bool) -> str:
    functions = functions_of(module)
    main = functions["main"]
    count = len(main.regions[0].blocks[0].arguments)
    given = attributes_of(main, "arg_attrs", count)
    if "backward" in functions or is_joint:
        return "joint"
    if any(keys.SAVED in each or keys.COTANGENT in each for each in given):
        return "backward"
    *_, last = main.regions[0].blocks[0].operations
    results = attributes_of(main, "res_attrs", len(last.operands))
    is_forward = keys.DIFFERENTIABLE in main.attributes
    if is_forward or any(keys.SAVED in each for each in results):
        return "forward"
    is_graph = last.operation.name == "func.return"
    if is_graph and any(keys.REQUIRES_GRAD in each for each in given):
        return "joint"
    return PROGRAMS[0]


class _Keep:
    """An observer that keeps the IR after each pass."""

    def __init__(self, program: Program, kind: str, steps: Iterator[Step]):
        self._program, self._kind, self._steps = program, kind, steps

    def before(self, name: str, module: ir.Operation) -> None:
        """The IR before is known."""

    def after(self, name: str, module: ir.Operation) -> None:
        """Keeps the IR."""
        found = Snapshot(self._kind, (next(self._steps),), cloned(module))
        self._program.snapshots.append(found)


def _run(program: Program, module: Any, kind: str, steps: list[Step]) -> None:
    named = [
        replace(step, stage=_STAGES.get(step.name, step.name), info=_users_pass(step))
        for step in steps
    ]
    run_pipeline(module, steps, observer=_Keep(program, kind, iter(named)))


def _users_pass(step: Step) -> Any:
    """The pass of a step if a user defined it: what repeats it has to load that."""
    return info_of_step(step) if is_foreign(step) else step.info


def _execute(program: Program, last: Path) -> None:
    """Runs the last file, where its level can be run."""
    given = program.executed.given
    if program.snapshots[-1].is_joint:
        return
    values = given.copies()
    try:
        results = Loaded(last)(*values)
    except Exception:  # IR of this level can't be run on this machine
        program.executed = None
        program.executed = Executed(given, [], [])
        return
    results = list(results) if isinstance(results, tuple) else [results]
    program.executed = Executed(given, results, values)
