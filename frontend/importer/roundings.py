"""Sizes that are computed in floating point and rounded: ``int(n * 0.5)``, ``n / 3``.

Where all that Python computes on the way is exact in float64, the result is a quotient
of ints. That holds for factors whose denominator is a power of two (0.5, 1.25, 3.0)
and sizes that are small enough, and for a quotient which is rounded right away. It does
not hold for a factor of 0.3, so such a size has no form here. sympy is never imported.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from girih.frontend.fake.demands import is_undecided

_LARGEST_SIZE = 2**31
_LARGEST_EXACT = 2**52
_DOWN, _UP = "floordiv", "ceildiv"
_ROUNDED = {"CeilToInt": _UP, "FloorToInt": _DOWN, "TruncToInt": _DOWN}


class Quotient(NamedTuple):
    """An int by an int, rounded.

    Attributes:
        numerator: Torch's expression, or an int.
        denominator: At least 1.
        rounding: The name of a function of ``dims``.
    """

    numerator: Any
    denominator: int
    rounding: str


class _Fraction(NamedTuple):
    """An exact value of floating point; ``bound`` is above the numerator's size."""

    numerator: Any
    denominator: int
    bound: int

    @property
    def is_float(self) -> bool:
        """Whether float64 holds it without an error."""
        is_power = self.denominator & (self.denominator - 1) == 0
        return is_power and self.bound <= _LARGEST_EXACT


class _Inexact(Exception):
    """The arithmetic rounds on the way."""


def quotient_of(expression: Any, shape_env: Any) -> Quotient | None:
    """The exact quotient that an expression of torch is equal to; None without one.

    That sizes are small, and not negative where that matters, become guards.
    """
    name = type(expression).__name__
    if name not in _ROUNDED:
        return None
    try:
        fraction = _fraction(expression.args[0], shape_env)
        is_exact = fraction.bound <= _LARGEST_EXACT
        if name == "TruncToInt" and is_exact:
            is_exact = _holds(shape_env, fraction.numerator, lambda size: size >= 0)
    except _Inexact:
        return None
    if not is_exact:
        return None
    return Quotient(fraction.numerator, fraction.denominator, _ROUNDED[name])


def _fraction(expression: Any, shape_env: Any) -> _Fraction:
    if expression.is_Integer or expression.is_Float:
        numerator, denominator = float(expression).as_integer_ratio()
        return _Fraction(numerator, denominator, abs(numerator))
    function = _FUNCTIONS.get(type(expression).__name__)
    if function is None:
        raise _Inexact
    return function(shape_env, *expression.args)


def _size(shape_env: Any, expression: Any) -> _Fraction:
    if not _holds(shape_env, expression, lambda size: size >= 0):
        raise _Inexact
    if not _holds(shape_env, expression, lambda size: size < _LARGEST_SIZE):
        raise _Inexact
    return _Fraction(expression, 1, _LARGEST_SIZE)


def _holds(shape_env: Any, expression: Any, test) -> bool:
    """Whether an int passes a test; a guard, where ranges leave that open."""
    if isinstance(expression, int):
        return test(expression)
    try:
        return bool(test(shape_env.create_symintnode(expression, hint=None)))
    except Exception as error:
        if not is_undecided(error):
            raise
        raise _Inexact from None


def _exact(expression: Any, shape_env: Any) -> _Fraction:
    fraction = _fraction(expression, shape_env)
    if not fraction.is_float:
        raise _Inexact
    return fraction


def _product(shape_env: Any, *parts: Any) -> _Fraction:
    result = _Fraction(1, 1, 1)
    for part in parts:
        factor = _exact(part, shape_env)
        result = _Fraction(*(a * b for a, b in zip(result, factor, strict=True)))
        if not result.is_float:
            raise _Inexact
    return result


def _sum(shape_env: Any, *parts: Any) -> _Fraction:
    fractions = [_exact(part, shape_env) for part in parts]
    denominator = max(fraction.denominator for fraction in fractions)
    numerator = bound = 0
    for fraction in fractions:
        scale = denominator // fraction.denominator
        numerator = numerator + fraction.numerator * scale
        bound += fraction.bound * scale
    return _Fraction(numerator, denominator, bound)


def _quotient(shape_env: Any, numerator: Any, denominator: Any) -> _Fraction:
    """Rounds, but never past an int: that is further away than the error."""
    divisor = _exact(denominator, shape_env)
    if not isinstance(divisor.numerator, int) or divisor.numerator <= 0:
        raise _Inexact
    divided = _exact(numerator, shape_env)
    scale, common = divisor.denominator, divisor.numerator
    shared = math.gcd(scale, common)
    return _Fraction(
        divided.numerator * (scale // shared),
        divided.denominator * (common // shared),
        divided.bound * (scale // shared),
    )


def _int_quotient(shape_env: Any, numerator: Any, denominator: Any) -> _Fraction:
    if not denominator.is_Integer or int(denominator) < 1:
        raise _Inexact
    divided = _size(shape_env, numerator)
    return _Fraction(divided.numerator, int(denominator), divided.bound)


# Names of sympy's functions, and of torch's own (torch.utils._sympy.functions).
_FUNCTIONS = {
    "Add": _sum,
    "FloatTrueDiv": _quotient,
    "IntTrueDiv": _int_quotient,
    "Mul": _product,
    "ToFloat": _size,
}
