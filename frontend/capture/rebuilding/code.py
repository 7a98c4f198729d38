"""Short forms of the AST nodes that writers use."""

from __future__ import annotations

import ast


def load(name: str) -> ast.expr:
    """``name``."""
    return ast.Name(name, ast.Load())


def call(function: ast.expr, *args: ast.expr) -> ast.expr:
    """``function(*args)``."""
    return ast.Call(function, list(args), [])


def attribute(owner: ast.expr, name: str) -> ast.expr:
    """``owner.name``."""
    return ast.Attribute(owner, name, ast.Load())


def method(owner: ast.expr, name: str, *args: ast.expr) -> ast.expr:
    """``owner.name(*args)``."""
    return call(attribute(owner, name), *args)


def list_of(items: list[ast.expr]) -> ast.expr:
    """``[*items]``."""
    return ast.List(items, ast.Load())


def tuple_of(items: list[ast.expr]) -> ast.expr:
    """``(*items,)``."""
    return ast.Tuple(items, ast.Load())


def mentions(expressions: list[ast.expr], name: str) -> bool:
    """Whether a name is read in one of the expressions."""
    return any(
        isinstance(node, ast.Name) and node.id == name
        for expression in expressions
        for node in ast.walk(expression)
    )


def inlined(statements: list[ast.stmt], result: ast.expr) -> ast.expr:
    """The result; what the last statement made for it alone is put in its place."""
    last = statements[-1] if statements else None
    if not isinstance(last, ast.Assign) or not isinstance(result, ast.Name):
        return result
    (target,) = last.targets
    if not isinstance(target, ast.Name) or target.id != result.id:
        return result
    statements.pop()
    return last.value
