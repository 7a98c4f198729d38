"""The list of passes and pipelines that ``girih-opt --list-passes`` prints."""

import ast
import dataclasses
import inspect
import textwrap
import typing

from girih.passes import pipelines, registry, stages

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


_DOES = {
    "inference": "a program without gradients",
    "joint": "a program with gradients: results and gradients in one function",
    "forward": "what a call runs",
    "backward": "what the backward pass runs, for each set of results with a gradient",
    "derivative": "the gradients as a function that can be derived: a joint one next",
}


def stage_list(target: str, is_training: bool) -> str:
    """Returns the stages of all programs on a target, as text.

    Args:
        target: "cpu" or "gpu".
        is_training: whether those of programs with gradients are listed.
    """
    programs = stages.PROGRAMS[1:] if is_training else stages.PROGRAMS[:1]
    lines = []
    for program in programs:
        lines.append(f"{program}: {_DOES[program]}")
        for stage in stages.stages_of(program, stages.TARGETS[target]):
            lines += _stage_lines(stage)
    lines.append("\nA user's pass runs before:STAGE or after:STAGE, in one program as")
    lines.append("PROGRAM:before:STAGE. A stage in brackets is an act of the driver.")
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
    lines = [f"  {name}  (on {info.op})", f"    {info.summary}"]
    if info.options is not None:
        lines.extend(_option_lines(info.options))
    return lines


def _option_lines(options: type) -> list[str]:
    documented = _field_docs(options)
    hints = typing.get_type_hints(options)
    lines = []
    for field in dataclasses.fields(options):
        name = field.name.replace("_", "-")
        kind = getattr(hints[field.name], "__name__", str(hints[field.name]))
        head = f"    --{name}: {kind} = {field.default}"
        doc = documented.get(field.name, "")
        lines.extend(
            [
                head,
                *textwrap.wrap(
                    doc, 80, initial_indent=_INDENT, subsequent_indent=_INDENT
                ),
            ]
        )
    return lines


def _field_docs(options: type) -> dict[str, str]:
    """Returns the string that stands below each field in the class's source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(options)))
    docs, field = {}, None
    for node in tree.body[0].body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)):
                field = name
            case ast.Expr(value=ast.Constant(value=str(text))) if field:
                docs[field] = " ".join(text.split())
            case _:
                field = None
    return docs
