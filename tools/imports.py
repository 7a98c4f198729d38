"""Which modules import one another, and where that goes in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import networkx


def circles(modules: Mapping[str, ast.Module], for_types: bool = False) -> list[str]:
    """The circles of imports, each as the names in it.

    An import inside of a function counts like any other: the modules are read together
    all the same. One under ``TYPE_CHECKING`` never runs.

    Args:
        modules: By name the modules that count.
        for_types: Find the circles that need an import for types alone, instead.
    """
    run = {name: set(_imported(name, tree, modules)) for name, tree in modules.items()}
    if not for_types:
        return [_text(circle) for circle in _components(run)]
    every = {
        name: set(_imported(name, tree, modules, for_types=True))
        for name, tree in modules.items()
    }
    at_run_time = _components(run)
    return [_text(circle) for circle in _components(every) if circle not in at_run_time]


def _text(circle: frozenset[str]) -> str:
    return ", ".join(sorted(circle))


def _imported(
    name: str, tree: ast.Module, modules: Mapping[str, ast.Module], for_types=False
) -> Iterator[str]:
    """The modules among ``modules`` that one imports."""
    for node in _nodes(tree, for_types):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _base(name, node, modules)
            inner = [f"{base}.{alias.name}" for alias in node.names]
            found = [each if each in modules else base for each in inner]
        else:
            continue
        yield from (each for each in found if each in modules and each != name)


def _base(name: str, node: ast.ImportFrom, modules: Mapping[str, ast.Module]) -> str:
    """The full name of what a statement imports from."""
    if not node.level:
        return node.module or ""
    is_package = any(other.startswith(f"{name}.") for other in modules)
    parts = name.split(".")
    outer = parts[: len(parts) - node.level + is_package]
    return ".".join([*outer, *filter(None, [node.module])])


def _nodes(tree: ast.AST, for_types: bool) -> Iterator[ast.AST]:
    todo = [tree]
    while todo:
        node = todo.pop()
        if not for_types and isinstance(node, ast.If) and _asks_for_types(node.test):
            todo += node.orelse
            continue
        yield node
        # An expression holds no statement, and most nodes stand in one.
        if not isinstance(node, ast.expr):
            todo += ast.iter_child_nodes(node)


def _asks_for_types(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in ast.unparse(test)


def _components(graph: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """The groups of modules that all reach one another, of two modules or more."""
    found = networkx.strongly_connected_components(networkx.DiGraph(graph))
    return sorted((frozenset(each) for each in found if len(each) > 1), key=_text)
