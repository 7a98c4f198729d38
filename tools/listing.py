"""The list of passes and pipelines that ``girih-opt --list-passes`` prints."""

import dataclasses
import platform
import textwrap
import typing
from contextlib import suppress
from importlib import metadata
from typing import NamedTuple

import girih
from girih.dialects import load_all
from girih.dialects.context import UPSTREAM_DIALECTS
from girih.dialects.definition import OPS
from girih.passes import pipelines, registry, stages
from girih.passes.options import documented

_INDENT = " " * 6


def pass_list() -> str:
    """Returns all passes of girih with their options, and the named pipelines."""
    lines = ["Passes:"]
    for name in registry.own_pass_names():
        lines.extend(_pass_lines(name))
    lines.append("\nPipelines:")
    for name, steps in pipelines.PIPELINES.items():
        lines.append(f"  {name}")
        lines.extend(f"    {step.passes:<34} {step.does}" for step in steps)
    lines.append("\nAny pass of upstream MLIR can be named as well.")
    return "\n".join(lines)


def dialect_list() -> str:
    """Returns the dialects: MLIR's that girih uses, girih's own, those of plugins."""
    load_all()
    own = {name.partition(".")[0] for name in OPS}
    return "\n".join(sorted({*own, *UPSTREAM_DIALECTS}))


def versions() -> str:
    """Returns the versions of girih and of what its result depends on."""
    lines = [f"girih {girih.__version__}, Python {platform.python_version()}"]
    for package in ("torch-mlir", "torch", "triton", "llvmlite"):
        with suppress(metadata.PackageNotFoundError):
            lines.append(f"{package} {metadata.version(package)}")
    return "\n".join(lines)


DOES = {
    "inference": "a program without gradients",
    "constants": "with freezing: what such a program needs of its weights, once",
    "joint": "a program with gradients: results and gradients in one function",
    "forward": "what a call runs",
    "backward": "what the backward pass runs, once for each set of gradients",
    "derivative": "the gradients as a function, from which a joint program begins",
}
"""By the name of each kind of program what such a program is."""


def stage_list(target: str, is_training: bool) -> str:
    """Returns the stages of all programs on a target, as text.

    Args:
        target: "cpu" or "gpu".
        is_training: whether those of programs with gradients are listed.
    """
    programs = stages.PROGRAMS[2:] if is_training else stages.PROGRAMS[:2]
    lines = []
    for program in programs:
        lines.append(f"{program}: {DOES[program]}")
        for stage in stages.stages_of(program, stages.TARGETS[target]):
            lines += _stage_lines(stage)
    lines.append("\nA user's pass runs before:STAGE or after:STAGE, in one program as")
    lines.append("PROGRAM:before:STAGE. The driver carries out a stage in brackets; no")
    lines.append("pass runs there.")
    return "\n".join(lines)


def _stage_lines(stage: stages.CompilerStage) -> list[str]:
    if not stage.passes:
        missing = [
            f"no {when}:"
            for when, has in (("before", stage.takes_ir), ("after", stage.leaves_ir))
            if not has
        ]
        head = f"  [{stage.name}]  {', '.join(missing)}"
    elif stage.passes == stage.name:
        head = f"  {stage.name}"
    else:
        head = f"  {stage.name}  (runs {stage.passes})"
    text = textwrap.wrap(
        stage.does, 80, initial_indent=_INDENT, subsequent_indent=_INDENT
    )
    return [head.rstrip(), *text]


def _pass_lines(name: str) -> list[str]:
    try:
        info = registry.find_pass(name)
    except registry.UnknownPass as error:
        return [f"  {name}", f"    not available: {error}"]
    lines = [f"  {name}  (on {info.op})"]
    if info.summary:
        lines.append(f"    {info.summary}")
    if info.options is not None:
        lines.extend(_option_lines(info.options))
    return lines


class PassOption(NamedTuple):
    """An option of a pass, as users write it."""

    name: str
    type: str
    default: str
    meaning: str


def pass_options(options: type) -> list[PassOption]:
    """Returns what the fields of a pass's options are."""
    meanings, hints = documented(options), typing.get_type_hints(options)
    found = []
    for field in dataclasses.fields(options):
        kind = getattr(hints[field.name], "__name__", str(hints[field.name]))
        meaning = meanings.get(field.name, "")
        name = field.name.replace("_", "-")
        found.append(PassOption(name, kind, str(field.default), meaning))
    return found


def _option_lines(options: type) -> list[str]:
    lines = []
    for name, kind, default, meaning in pass_options(options):
        lines.append(f"    --{name}: {kind} = {default}")
        lines += textwrap.wrap(
            meaning, 80, initial_indent=_INDENT, subsequent_indent=_INDENT
        )
    return lines
