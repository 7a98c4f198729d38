"""Counts what the layout of the sources promises; ``make lint`` fails where it grew.

python -m girih.tools.house

Each rule has a bound: what is left of it today. A bound is lowered when a count falls
(the check says so), and never raised.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from girih.dialects import graph, host, tile
from girih.tools import imports

ROOT = Path(__file__).resolve().parents[1]
PASSES = ROOT / "passes"
SOURCES = ("dialects", "passes", "codegen", "frontend", "girih", "tools")
# Where the keys of the attributes of ``@main`` are named.
_KEYS = ROOT / "dialects" / "keys.py"
# The files of the package's own folder are modules of the package itself.
_UNNAMED = ("girih", "__init__")
_RAW_ATTRIBUTE = re.compile(r"graph\.(?!py$)[a-z_]+")

BOUNDS = {
    "uses of FAMILY in passes": 0,
    "constants in passes that name several ops, outside rule tables": 25,
    "raw attribute keys of @main outside dialects/keys.py": 0,
    "top-level classes of one name in a package": 29,
    "circles of imports, those inside of functions included": 0,
    "circles of imports that are made for types alone": 2,
}


def counts() -> dict[str, list[str]]:
    """For each rule the places that break it."""
    found: dict[str, list[str]] = {rule: [] for rule in BOUNDS}
    family, names, keys, classes, circles, typed = found.values()
    for path in _files("passes"):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Attribute) and node.attr == "FAMILY":
                family.append(_place(path, node))
        names += [_place(path, node) for node in _sets_of_ops(_tree(path).body)]
    for path in _files(*SOURCES):
        if path != _KEYS:
            keys += [_place(path, node) for node in _raw_keys(_tree(path))]
    classes += _duplicates()
    modules = {_module(path): _tree(path) for path in _files(*SOURCES)}
    circles += imports.circles(modules)
    typed += imports.circles(modules, for_types=True)
    return found


def _files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def _module(path: Path) -> str:
    """The name under which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(["girih", *(part for part in parts if part not in _UNNAMED)])


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{node.lineno}"


def _sets_of_ops(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Constants at the top of a module that name two or more ops."""
    names = {*graph.OPS, *tile.OPS, *host.OPS}
    names |= {cls.SHORT_NAME for cls in graph.OPS.values()}
    for statement in body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or not statement.value:
            continue
        texts = [n.value for n in ast.walk(statement.value) if _is_text(n)]
        words = {word for text in texts for word in text.split()}
        if len(words & names) > 1:
            yield statement


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _raw_keys(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if _is_text(node) and _RAW_ATTRIBUTE.fullmatch(node.value):
            if node.value not in graph.OPS:
                yield node


def _duplicates() -> list[str]:
    """Classes that share their name with another one below the same top folder."""
    classes = Counter(
        (path.relative_to(ROOT).parts[0], statement.name)
        for path in _files(*SOURCES)
        for statement in _tree(path).body
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_")
    )
    return [f"{top}: {name}" for (top, name), count in classes.items() if count > 1]


def problems() -> list[str]:
    """What grew beyond its bound, or fell below it, in words."""
    found = []
    for rule, places in counts().items():
        count, bound = len(places), BOUNDS[rule]
        if count > bound:
            found.append(f"{rule}: {count}, at most {bound}:\n  " + "\n  ".join(places))
        elif count < bound:
            found.append(f"{rule}: {count}; lower the bound of {bound} in {__file__}")
    return found


def main() -> int:
    """Prints what is wrong; the exit code says whether anything is."""
    for problem in (found := problems()):
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
