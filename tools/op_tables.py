"""The ops of girih as text: ``girih-opt --list-ops``, and docs/reference-ops.md.

``python -m girih.tools.op_tables`` writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from girih.dialects import definition, graph, host, tile
from girih.dialects.definition import Op
from girih.dialects.fields import REQUIRED, Group

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference-ops.md"
_SIGNS = {Group.SINGLE: "", Group.OPTIONAL: "?", Group.VARIADIC: "..."}
_LOADED = (graph, host, tile)


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
    lines = [
        "# Ops",
        "",
        "Made by `python -m girih.tools.op_tables`; `girih-opt --list-ops` prints the",
        "same, with the ops of plugins. `x?` may be left out, `x...` is any number of",
        "values. An attribute with `=` has a default.",
    ]
    for dialect in dialects():
        if dialect not in [module.NAME for module in _LOADED]:
            continue
        lines += ["", f"## {dialect}", ""]
        lines.append("| op | operands | attributes | results | role | meaning |")
        lines.append("|---|---|---|---|---|---|")
        lines += [_row(cls) for cls in _ops_of(dialect)]
    return "\n".join(lines) + "\n"


def _row(cls: type[Op]) -> str:
    role = cls.ROLE.name.lower() if cls.ROLE else ""
    meaning = _first_line(cls).replace("|", "\\|")
    attributes = _attributes(cls).replace("|", "\\|")
    cells = (cls.SHORT_NAME, _operands(cls), attributes, _results(cls), role, meaning)
    return f"| {' | '.join(cells)} |".replace("  ", " ")


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


def main() -> int:
    """Writes the page; returns the exit code."""
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
