"""Symbolic sizes: from torch's SymInts (sympy expressions) to ``Dim``.

sympy is never imported here: a SymInt exists only where torch has loaded it.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Iterator

import torch

from girih.dialects import dims
from girih.dialects.dims import Dim, Size
from girih.dialects.equations import Equations
from girih.errors import UnsupportedError, unsupported
from girih.frontend.importer.roundings import quotient_of

_LOG = logging.getLogger(__name__)

LARGEST = 2**63 - 1

# Python's own would compare torch's sizes, which adds guards.
_EXTREMA = {
    "max": lambda *sizes: functools.reduce(torch.sym_max, sizes),
    "min": lambda *sizes: functools.reduce(torch.sym_min, sizes),
}


class Symbols:
    """The symbols of one import, with their ranges.

    Attributes:
        ranges: Name of each symbol met so far, with its smallest and largest value.
        numbers: Names of symbols that are numbers and no sizes: they may be negative.
    """

    def __init__(self):
        self.numbers: set[str] = set()
        self.ranges: dict[str, tuple[int, int]] = {}
        self._sizes: dict[object, Size] = {}
        self._variables: dict[str, tuple[object, object]] = {}
        self._equal = EqualSizes(self.numbers)

    def size(self, value: int | torch.SymInt) -> Size:
        """The size that an int or a SymInt stands for."""
        if not isinstance(value, torch.SymInt):
            return int(value)
        return self.of_expression(value.node.expr, value.node.shape_env)

    def of_expression(self, expression: object, shape_env: object) -> Size:
        """The size that an expression of torch stands for."""
        known = self._sizes.get(expression)
        if known is None:
            without = self._without_numbers(expression, shape_env)
            known = self._equal.simplest(without, shape_env)
            self._sizes[expression] = known
            in_size = dims.symbols_of(known)
            for symbol in expression.free_symbols | self._equal.symbols:
                if str(symbol) in in_size:
                    self._add_range(symbol, shape_env)
        return known

    def _without_numbers(self, expression: object, shape_env: object) -> object:
        """sympy's expression with constants for what numbers alone decide.

        The constants are guards of whoever captured the program. What sizes decide
        stays as it is: a constant for ``s0 + abs(n)`` as a whole would be another size
        than what rules compute from ``s0``.
        """
        symbols = self.numbers and expression.free_symbols
        if not any(str(symbol) in self.numbers for symbol in symbols):
            return expression
        is_polynomial = expression.is_Add or expression.is_Mul
        if not is_polynomial and _are_in(symbols, self.numbers):
            number = int(shape_env.create_symintnode(expression, hint=None))
            return 0 * expression + number  # as sympy has it
        args = [self._without_numbers(arg, shape_env) for arg in expression.args]
        return expression.func(*args)

    def is_number(self, value: torch.SymInt) -> bool:
        """Whether a value depends on a number that is no size."""
        symbols = value.node.expr.free_symbols if self.numbers else ()
        return any(str(symbol) in self.numbers for symbol in symbols)

    def is_negative(self, size: Size) -> bool:
        """Whether a size, or an int that was computed from sizes, is below zero.

        Where the ranges of its symbols leave that open, what it is now becomes a guard.
        """
        if isinstance(size, int):
            return size < 0
        if dims.is_at_least_zero(size, self._least):
            return False
        return bool(self._symint(size) < 0)

    def is_equal(self, one: Size, other: Size) -> bool:
        """Whether two sizes are the same; what is the case now becomes a guard."""
        if one == other or self._equal.are_equal(one, other):
            return True
        difference = other - one
        if isinstance(difference, int):
            return False
        return bool(self._symint(difference) == 0)

    def _least(self, symbol: str) -> int:
        return self.ranges[symbol][0]

    def _symint(self, size: Dim) -> torch.SymInt:
        """torch's own form of a size."""
        values = {}
        for name in dims.symbols_of(size):
            symbol, shape_env = self._variables[name]
            values[name] = shape_env.create_symintnode(symbol, hint=None)
        return dims.evaluate(size, values, _EXTREMA)

    def may_be_negative(self, value: torch.SymInt) -> bool:
        """Whether a value is a symbol whose range goes below zero."""
        expression = value.node.expr
        if not expression.is_Symbol:
            return False
        bounds = value.node.shape_env.var_to_range.get(expression)
        return bounds is not None and bool(bounds.lower < 0)

    def dim(self, symbol: object, shape_env: object) -> Dim:
        """The size that a symbol of torch stands for."""
        self._add_range(symbol, shape_env)
        return dims.symbol(str(symbol))

    def shape(self, sizes: torch.Size) -> tuple[Size, ...]:
        """The sizes of a tensor."""
        return tuple(size if type(size) is int else self.size(size) for size in sizes)

    def same(self, one: tuple[Size, ...], other: tuple[Size, ...]) -> bool:
        """Whether two shapes are the same, by what guards say."""
        return one == other or (
            len(one) == len(other) and all(map(self._equal.are_equal, one, other))
        )

    def _add_range(self, symbol: object, shape_env: object) -> None:
        bounds = shape_env.var_to_range.get(symbol)
        lower = _bound(bounds and bounds.lower, 0)
        upper = _bound(bounds and bounds.upper, LARGEST)
        self.ranges[str(symbol)] = (max(lower, 0), min(upper, LARGEST))
        self._variables[str(symbol)] = symbol, shape_env


class EqualSizes:
    """Which sizes guards say are equal: one of them stands for all in types.

    PyTorch puts numbers and symbols in place of symbols, but nothing in place of an
    expression: after ``linear(x.flatten(1), weight)`` a size of ``s0*s1`` and one of
    ``s2`` are the same. The operands of an op would have types that differ.

    Attributes:
        symbols: Those of torch that stand in the simplest of equal sizes.

    Args:
        numbers: Names of symbols that are no sizes. What they alone decide, such as
            ``abs(n)``, stands in sizes as the constant that a guard says it is.
    """

    def __init__(self, numbers: set[str]) -> None:
        self.symbols: set[object] = set()
        self._numbers = numbers
        self._is_filled = False
        self._equations = Equations()

    def simplest(self, expression: object, shape_env: object) -> Size:
        """The number, symbol or simplest size that sympy's expression is equal to."""
        if not self._is_filled:
            self._is_filled = True
            # Sizes have been written already when importing brings another guard; the
            # graph is imported again then.
            constants = self._constants(shape_env)
            guards = _equalities(shape_env)
            sides = [self._sizes(g.expr.args, constants, shape_env) for g in guards]
            self._equations.add_all(pair for pair in sides if pair is not None)
        size = _convert(expression, shape_env)
        if size == 1 and not (expression.is_Integer or expression.is_Symbol):
            # What it is part of will be written without it.
            self._equations.add(_with_arguments(expression, shape_env), 1)
        return self._equations.simplest(size)

    def are_equal(self, one: Size, other: Size) -> bool:
        """Whether guards say that two sizes are equal."""
        return self._equations.are_equal(one, other)

    def _constants(self, shape_env: object) -> dict:
        """Which expressions of numbers alone are constants by what guards say."""
        if not self._numbers:
            return {}
        return {
            shape_env.replace(guard.expr.args[0]): guard.expr.args[1]
            for guard in _equalities(shape_env)
            if guard.expr.args[1].is_Integer
            and _are_in(guard.expr.args[0].free_symbols, self._numbers)
        }

    def _sizes(
        self, sides: tuple, constants: dict, shape_env: object
    ) -> tuple[Size, Size] | None:
        """The two sides of a guard; None where it says nothing about sizes."""
        one, other = (shape_env.replace(side).xreplace(constants) for side in sides)
        if one.is_Symbol and other.is_Symbol:
            return None  # PyTorch has put one of them in place of the other
        symbols = one.free_symbols | other.free_symbols
        if any(str(symbol)[0] == "u" for symbol in symbols):
            return None  # it has no value where a call begins
        if any(str(symbol) in self._numbers for symbol in symbols):
            return None  # it is no size
        try:
            sizes = _convert(one, shape_env), _convert(other, shape_env)
        except UnsupportedError:
            return None
        self.symbols |= symbols
        return sizes


def values_of_symbols(shape_env: object) -> dict:
    """What each symbol is now, but for those that depend on data."""
    # torch 2.11 has the older name alone.
    newer = hasattr(shape_env, "backed_var_to_val")
    return shape_env.backed_var_to_val if newer else shape_env.var_to_val


def fix_symbols(expression: object, shape_env: object) -> None:
    """Makes constants of the symbols in an expression: what they are now.

    That is one more fact about them, with which the graph is imported again, and a
    guard of whoever captured it.
    """
    values = values_of_symbols(shape_env)
    for symbol in expression.free_symbols:
        known = values.get(symbol)
        if known is None:
            continue  # it depends on data
        _LOG.debug("%s needs the value of %s: %s", expression, symbol, known)
        if symbol.is_integer:
            int(shape_env.create_symintnode(symbol, hint=int(known)))
        else:
            float(shape_env.create_symfloatnode(symbol, hint=float(known)))


def _equalities(shape_env: object) -> Iterator:
    """The guards that say that two expressions are equal."""
    return (g for g in shape_env.guards if type(g.expr).__name__ == "Equality")


def _are_in(symbols: Iterable, names: set[str]) -> bool:
    return all(str(symbol) in names for symbol in symbols)


def _bound(value: object, default: int) -> int:
    if value is None or not getattr(value, "is_Integer", False):
        return default
    return int(value)


def _convert(expression: object, shape_env: object) -> Size:
    """The ``Dim`` for a sympy expression; recursive over its arguments."""
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        return dims.symbol(str(expression))
    if _is_one(expression, shape_env):
        return 1
    bounds = shape_env.bound_sympy(expression)
    if bounds.is_singleton():  # min(s0, 2) where s0 is 2 at least
        return int(bounds.lower)
    return _with_arguments(expression, shape_env)


def _with_arguments(expression: object, shape_env: object) -> Size:
    quotient = quotient_of(expression, shape_env)
    if quotient is not None:
        numerator = quotient.numerator
        if not isinstance(numerator, int):
            numerator = _convert(numerator, shape_env)
        return dims.called(quotient.rounding, numerator, quotient.denominator)
    args = [_convert(arg, shape_env) for arg in expression.args]
    function = _FUNCTIONS.get(type(expression).__name__)
    if function is None or not all(isinstance(arg, (int, Dim)) for arg in args):
        fix_symbols(expression, shape_env)
        unsupported(
            kind="symbolic size",
            context=str(expression),
            explanation="girih can't compute a size with this function.",
            hints=("Compile with dynamic=False.",),
        )
    return function(args)


def _is_one(expression: object, shape_env: object) -> bool:
    """Whether guards say that an expression is 1: a tensor is repeated along it.

    PyTorch puts numbers in place of symbols, but not in place of ``s0 // 2``.
    """
    is_one = (shape_env.create_symintnode(expression, hint=None) == 1).node
    if is_one.has_hint() and not is_one.hint:
        return False
    # Without them, what was said before the newest guard would be said again.
    axioms = tuple(guard.expr for guard in shape_env.guards)
    return bool(shape_env._maybe_evaluate_static(is_one.expr, axioms=axioms))


def _fold(combine):
    def apply(args: list[Size]) -> Size:
        result = args[0]
        for arg in args[1:]:
            result = combine(result, arg)
        return result

    return apply


def _power(args: list[Size]) -> Size:
    base, exponent = args
    if not isinstance(exponent, int) or exponent < 0:
        unsupported(
            kind="symbolic exponent",
            context=f"{base}**{exponent}",
            explanation="girih computes sizes with constant exponents only.",
        )
    result = 1
    for _ in range(exponent):
        result = base * result
    return result


# Names of sympy's functions, and of torch's own (torch.utils._sympy.functions).
_FUNCTIONS = {
    "Add": _fold(lambda a, b: a + b),
    "CeilDiv": _fold(dims.ceildiv),
    "CleanDiv": _fold(dims.floordiv),
    "FloorDiv": _fold(dims.floordiv),
    "Max": _fold(dims.maximum),
    "Min": _fold(dims.minimum),
    "Mod": _fold(dims.mod),
    "Mul": _fold(lambda a, b: a * b),
    "Pow": _power,
    "PythonMod": _fold(dims.mod),
}
