"""The attributes of ``@main`` as a page: docs/reference/attributes.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from girih.dialects import keys
from girih.dialects.graph import signature
from girih.passes.options import documented

ROOT = Path(__file__).resolve().parents[1]
# The dialect itself checks all of them.
_FOLDERS = ("frontend", "passes", "codegen", "girih")
_FUNCTION = {"SYMBOLS": "dictionary of ranges", "DEVICE": "string"} | dict.fromkeys(
    ("DIFFERENTIABLE", "TRAINING"), "unit"
)
TRANSIENT = {"CHECKPOINT": "integer", "BEFORE_WRITE": "integer", "VALUE": "unit"}
"""Types of the keys that stand in IR only while derivatives are taken."""
_INTRODUCTION = """\
# Attributes of `@main`

This page is for those who read IR or write a pass: it lists the attributes of a graph
function, of its arguments and of its results. `make reference` writes this page from
`dialects/keys.py`, the verifier (`dialects/graph/signature.py`), and the sources that
name the keys.

The importer (`frontend/importer`) writes the attributes as facts about eager's tensors.
A pass that makes a new function has to hand on those that still hold. An attribute of
type unit has no value; it is true if it is present.

| attribute | stands on | type | meaning | written by | read by |
|---|---|---|---|---|---|
"""


class DocumentedKey(NamedTuple):
    """A key of an attribute.

    Attributes:
        places: Where it stands: "function", "argument", "result", "op".
        meaning: What it says of that.
    """

    places: tuple[str, ...]
    meaning: str


def documented_keys() -> dict[str, DocumentedKey]:
    """Returns what dialects/keys.py says of each key, by the constant's name."""
    found = {}
    for name, text in documented(keys).items():
        places, _, meaning = text.partition(": ")
        meaning = meaning[0].upper() + meaning[1:]
        found[name] = DocumentedKey(tuple(places.lower().split(", ")), meaning)
    return found


def uses_in(tree: ast.AST) -> set[tuple[str, bool]]:
    """Returns the names of keys in a module, and whether it writes the attribute.

    It does where the key indexes what is assigned to, or is a key of a dictionary that
    is made there. Other constants may stand for a key: ``_VALUE = keys.VALUE``.
    """
    aliases = {
        statement.targets[0].id: statement.value.attr
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and _is_key(statement.value)
    }
    name_of = partial(_name_of, aliases=aliases)
    written = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            written |= {key for key in node.keys if key is not None}
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            written.add(node.slice)
    aliased = {s.value for s in ast.walk(tree) if isinstance(s, ast.Assign)}
    return {
        (name, node in written)
        for node in ast.walk(tree)
        if (name := name_of(node)) and not (_is_key(node) and node in aliased)
    }


def _is_key(node: ast.AST) -> bool:
    is_attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return is_attribute and node.value.id == "keys"


def _name_of(node: ast.AST, aliases: dict[str, str]) -> str | None:
    if _is_key(node):
        return node.attr
    is_load = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    return aliases.get(node.id) if is_load else None


def page() -> str:
    """Returns the page of the documents."""
    users = sorted(_users())
    rows = []
    for name, key in documented_keys().items():
        who = [
            ", ".join(dict.fromkeys(f"`{u}`" for n, w, u in users if (n, w) == pair))
            for pair in ((name, True), (name, False))
        ]
        cells = (f"`{getattr(keys, name)}`", ", ".join(key.places), _type(name), *who)
        rows.append(" | ".join([*cells[:3], key.meaning, *cells[3:]]))
    return _INTRODUCTION + "".join(f"| {row} |\n".replace("  ", " ") for row in rows)


def _type(name: str) -> str:
    key = getattr(keys, name)
    rules = [t[key][0].rule for t in (signature.ARGUMENT, signature.RESULT) if key in t]
    types = [rule.removeprefix("be ").removeprefix("an ") for rule in rules]
    types = [text.removeprefix("a ") for text in types]
    types = types or [(_FUNCTION | TRANSIENT)[name]]
    return " or ".join(f"`{text}`" for text in dict.fromkeys(types))


def _users() -> Iterator[tuple[str, bool, str]]:
    for folder in _FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if "keys" not in text:
                continue
            place = path.relative_to(ROOT)
            # A package counts as one; a file of a layer is named itself.
            is_file = len(place.parts) == 2
            user = place.with_suffix("") if is_file else Path(*place.parts[:2])
            for name, writes in uses_in(ast.parse(text)):
                # The importer makes IR, and reads none.
                yield name, writes or folder == "frontend", user.as_posix()
