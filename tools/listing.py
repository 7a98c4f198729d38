"""The list of passes and pipelines that ``girih-opt --list-passes`` prints."""

import ast
import dataclasses
import inspect
import textwrap
import typing

from girih.passes import pipelines, registry

_INDENT = " " * 6


def pass_list() -> str:
    """Returns all passes of girih with their options, and the named pipelines."""
    lines = ["Passes:"]
    for name in registry.own_pass_names():
        lines.extend(_pass_lines(name))
    lines.append("\nPipelines:")
    for name, steps in pipelines.PIPELINES.items():
        lines.append(f"  {name}")
        lines.extend(f"    {step.text:<34} {step.why}" for step in steps)
    lines.append("\nAny pass of upstream MLIR can be named as well.")
    return "\n".join(lines)


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
