"""Expressions of symbolic sizes: written from torch's, and computed at each call.

An expression is a number, the name of a symbol, or a list of an operator and its
operands, as ``["<=", ["*", "s0", "s1"], 4096]``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

Expression = Any


class UnknownExpression(Exception):
    """An expression that has no place in a package."""


_OPERATORS: dict[str, Callable[..., Any]] = {
    "!=": operator.ne,
    "%": operator.mod,
    "*": lambda *factors: math.prod(factors),
    "+": lambda *terms: sum(terms),
    "//": operator.floordiv,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "and": lambda *conditions: all(conditions),
    "ceildiv": lambda lhs, rhs: -(-lhs // rhs),
    "max": max,
    "min": min,
    "not": operator.not_,
    "or": lambda *conditions: any(conditions),
}

# Classes of sympy and of torch's own functions, by name: sympy is not loaded for this.
_CLASSES = {
    "Add": "+",
    "And": "and",
    "CeilDiv": "ceildiv",
    "CleanDiv": "//",
    "Equality": "==",
    "FloorDiv": "//",
    "GreaterThan": ">=",
    "LessThan": "<=",
    "Max": "max",
    "Min": "min",
    "Mod": "%",
    "Mul": "*",
    "Not": "not",
    "Or": "or",
    "PythonMod": "%",
    "StrictGreaterThan": ">",
    "StrictLessThan": "<",
    "Unequality": "!=",
}


def encode(expression: Any) -> Expression:
    """An expression of torch's symbols.

    Raises:
        UnknownExpression: It uses something that is not written here.
    """
    if isinstance(expression, int):
        return expression
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        return str(expression)
    kind = type(expression).__name__
    if kind == "Pow":
        base, power = expression.args
        if power.is_Integer and power > 0:
            return ["*", *[encode(base)] * int(power)]
    if kind not in _CLASSES:
        raise UnknownExpression(str(expression))
    return [_CLASSES[kind], *map(encode, expression.args)]


def value_of(expression: Expression, symbols: Mapping[str, int]) -> Any:
    """What an expression is for some sizes."""
    if type(expression) is int:
        return expression
    if type(expression) is str:
        return symbols[expression]
    kind, *operands = expression
    return _OPERATORS[kind](*[value_of(operand, symbols) for operand in operands])


def check(expression: Expression, symbols: Mapping[str, Any]) -> None:
    """Checks what was read.

    Raises:
        ValueError: It is no expression of these symbols.
    """
    if type(expression) is int:
        return
    if type(expression) is str and expression in symbols:
        return
    if type(expression) is not list or expression[0] not in _OPERATORS:
        raise ValueError(f"no expression of sizes: {expression!r}")
    for operand in expression[1:]:
        check(operand, symbols)


def text_of(expression: Expression, names: Mapping[str, str]) -> str:
    """How an expression reads, with names for symbols."""
    if type(expression) is int:
        return str(expression)
    if type(expression) is str:
        return names.get(expression, expression)
    kind, *operands = expression
    texts = [text_of(operand, names) for operand in operands]
    if kind in ("max", "min", "ceildiv", "not"):
        return f"{kind}({', '.join(texts)})"
    pairs = zip(texts, operands, strict=True)
    inner = [f"({text})" if type(each) is list else text for text, each in pairs]
    return f" {kind} ".join(inner)
