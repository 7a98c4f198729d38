"""The ops of girih as text: ``girih-opt --list-ops``, and docs/reference/ops.md."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from girih.dialects import definition, graph, host, tile
from girih.dialects.definition import Op
from girih.dialects.fields import REQUIRED, Group
from girih.dialects.traits import Role, Trait

_SIGNS = {Group.SINGLE: "", Group.OPTIONAL: "?", Group.VARIADIC: "..."}
_LOADED = (graph, host, tile)
_INTRODUCTION = """\
# Ops

This page is for those who read IR or write a pass: it lists the ops of each dialect.
`girih-opt --list-ops` prints the ops, too, with those of plugins. `make reference`
writes this page from the classes of the ops.

An operand or result `x?` may be missing, `x...` is any number of values. An attribute
with `=` has a default. The class of an op also states the op's role and traits, which
passes ask for instead of the name ([facts on ops](../facts-on-ops.md))."""


def dialects() -> list[str]:
    """The dialects of ops: girih's own first, then those of plugins."""
    own = [module.NAME for module in _LOADED]
    others = {cls.DIALECT for cls in definition.OPS.values()} - {*own, "tt"}
    return [*own, *sorted(others)]


def op_list() -> str:
    """All ops with their fields, one in two lines."""
    lines = []
    for dialect in dialects():
        lines.append(f"{dialect}:")
        for cls in _ops_of(dialect):
            fields = ", ".join(filter(None, [_operands(cls), _attributes(cls)]))
            lines.append(f"  {cls.OPERATION_NAME}({fields}) -> {_results(cls)}")
            lines.append(f"      {_first_line(cls)}")
    lines.append("\nx? may be left out, x... is any number of values.")
    return "\n".join(lines)


def page() -> str:
    """The page of the documents."""
    lines = [_INTRODUCTION, _legend("role", "how the op becomes code", Role)]
    lines.append(_legend("trait", "what is true of the op", Trait))
    for dialect in (module.NAME for module in _LOADED):
        lines += [f"\n## {dialect}\n", *_table(dialect)]
    return "\n".join(lines) + "\n"


def _legend(name: str, means: str, values: type[Enum]) -> str:
    rows = [f"| {value.name.lower()} | {value.value} |" for value in values]
    return "\n".join(["", f"| {name} | {means} |", "|---|---|", *rows])


def _table(dialect: str) -> Iterator[str]:
    has_roles = dialect == graph.NAME
    heads = ["op", "operands", "attributes", "results"]
    heads += ["role"] * has_roles + ["traits", "meaning"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for cls in _ops_of(dialect):
        cells = [cls.SHORT_NAME, _operands(cls), _attributes(cls), _results(cls)]
        cells += [cls.ROLE.name.lower() if cls.ROLE else ""] * has_roles
        cells += [_traits(cls), _first_line(cls)]
        escaped = (cell.replace("|", "\\|") for cell in cells)
        yield f"| {' | '.join(escaped)} |".replace("  ", " ")


def _traits(cls: type[Op]) -> str:
    return ", ".join(trait.name.lower() for trait in Trait if trait in cls.TRAITS)


def _ops_of(dialect: str) -> Iterator[type[Op]]:
    yield from (cls for _, cls in sorted(definition.ops_of(dialect).items()))


def _operands(cls: type[Op]) -> str:
    return ", ".join(f"{field.name}{_SIGNS[field.group]}" for field in cls.OPERANDS)


def _attributes(cls: type[Op]) -> str:
    found = []
    for name, field in cls.ATTRIBUTES.items():
        if field.is_optional:
            found.append(f"{name}?")
        elif field.default is REQUIRED:
            found.append(name)
        else:
            found.append(f"{name}={field.default!r}")
    return ", ".join(found)


def _results(cls: type[Op]) -> str:
    return ", ".join(f"{field.name}{_SIGNS[field.group]}" for field in cls.RESULTS)


def _first_line(cls: type[Op]) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]
