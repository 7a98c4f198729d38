"""The check of sizes and numbers: one function of an entry's slots."""

from __future__ import annotations

import ast
from collections.abc import Callable

from girih.frontend.capture.rebuilding.numbers import application


def number_check(graph, rebuilder) -> Callable | None:
    """A function of the slots that checks what was assumed about sizes and numbers.

    Args:
        graph: Has the decisions that the trace took.
        rebuilder: Writes what they depend on; may get further slots.

    Returns:
        The function, or None where nothing was assumed.
    """
    tests = [] if rebuilder.sizes is None else rebuilder.sizes.tests()
    for function, args, result in graph.decisions:
        test = application(rebuilder, function, args)
        tests.append(test if result else ast.UnaryOp(ast.Not(), test))
    distinct = {ast.unparse(ast.fix_missing_locations(test)): test for test in tests}
    return _compiled(rebuilder, list(distinct.values())) if tests else None


def _compiled(rebuilder, tests: list[ast.expr]) -> Callable:
    # What raises for these numbers does not hold: see _guards.c.
    condition = ast.BoolOp(ast.And(), [*tests, ast.Constant(True)])
    parameters = [ast.arg(f"s{i}") for i in range(max(len(rebuilder.slots), 1))]
    rest = ast.arg("_rest")
    arguments = ast.arguments([], parameters, rest, [], [], None, [])
    definition = ast.FunctionDef("check", arguments, [ast.Return(condition)], [])
    module = ast.fix_missing_locations(ast.Module([definition], []))
    namespace = dict(rebuilder.constants)
    exec(compile(module, "<girih sizes>", "exec"), namespace)
    check = namespace["check"]
    check.__qualname__ = ast.unparse(condition)
    return check
