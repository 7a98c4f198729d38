"""Writers of sizes and of numbers that may vary: Python computes them again."""

from __future__ import annotations

import ast
import operator

from girih.frontend.capture.rebuilding.code import call
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.symbol import NumberValue, SymbolValue

_BINARY = {
    operator.add: ast.Add(),
    operator.sub: ast.Sub(),
    operator.mul: ast.Mult(),
    operator.truediv: ast.Div(),
    operator.floordiv: ast.FloorDiv(),
    operator.mod: ast.Mod(),
    operator.pow: ast.Pow(),
    operator.lshift: ast.LShift(),
    operator.rshift: ast.RShift(),
    operator.and_: ast.BitAnd(),
    operator.or_: ast.BitOr(),
    operator.xor: ast.BitXor(),
}
_COMPARISONS = {
    operator.lt: ast.Lt(),
    operator.le: ast.LtE(),
    operator.eq: ast.Eq(),
    operator.ne: ast.NotEq(),
    operator.gt: ast.Gt(),
    operator.ge: ast.GtE(),
}
_UNARY = {
    operator.neg: ast.USub(),
    operator.pos: ast.UAdd(),
    operator.invert: ast.Invert(),
}


@writes(SymbolValue)
def _write_size(rebuilder, value: SymbolValue) -> ast.expr:
    if value.real is None or rebuilder.sizes is None:
        return rebuilder.output(value)
    return rebuilder.sizes.expression(value.fake)


@writes(NumberValue)
def _write_number(rebuilder, value: NumberValue) -> ast.expr:
    return application(rebuilder, value.function, value.args)


def application(rebuilder, function, args) -> ast.expr:
    """``function(*args)``, as an operator where it is one.

    Args:
        rebuilder: Writes the arguments.
        function: A function of numbers.
        args: Traced values, or Python objects.
    """
    parts = [_argument(rebuilder, arg) for arg in args]
    if function in _BINARY:
        return ast.BinOp(parts[0], _BINARY[function], parts[1])
    if function in _COMPARISONS:
        return ast.Compare(parts[0], [_COMPARISONS[function]], [parts[1]])
    if function in _UNARY:
        return ast.UnaryOp(_UNARY[function], parts[0])
    return call(rebuilder.constant(function), *parts)


def _argument(rebuilder, value) -> ast.expr:
    if isinstance(value, Value):
        return rebuilder.expression(value)
    return rebuilder.constant(value)
