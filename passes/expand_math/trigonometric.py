"""sin and cos of float32.

x = q * pi/2 + r + e with |r| <= pi/4, in three parts of pi/2 and fused
multiply-adds; e is what r's rounding left. Arguments beyond 1e5 are rare, and exact
reduction of them is long: a vector that holds one calls the library, off the straight
path.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from girih.passes.expand_math.emitter import Emitter, Expr
from girih.passes.expand_math.rules import expands

TWO_OVER_PI = 2.0 / math.pi
# pi/2 in three float32 parts.
_PI_2 = (1.57079637, -4.37113883e-08, -1.71512489e-15)
# q has 16 bits up to here, so q * _PI_2[0] is subtracted without error.
LIMIT = 1e5

# (sin(r) - r) / r**3 in powers of r**2; error 2**-32.5 of sin.
_SIN = (2.83724694e-06, -0.000198534981, 0.00833338033, -0.166666672)
# (cos(r) - 1 + r**2/2) / r**4 in powers of r**2; error 2**-33.1 of cos.
_COS = (2.44306684e-05, -0.00138873013, 0.0416666456)


def reduce(m: Emitter, x: Expr) -> tuple[Expr, Expr, Expr]:
    """r, e and the integer q."""
    q, quadrant = m.round_scaled(x, TWO_OVER_PI)
    head = m.fma(q, -_PI_2[0], x)
    product = q * _PI_2[1]
    product_error = m.fma(q, _PI_2[1], -product)
    r = head - product
    error = ((head - r) - product) - product_error
    return r, m.fma(q, -_PI_2[2], error), quadrant


def sin_or_cos(m: Emitter, x: Expr, shift: int) -> Expr:
    """sin(x + shift * pi/2) for |x| < LIMIT."""
    r, error, quadrant = reduce(m, x)
    if shift:
        quadrant = m.int_binary("arith.addi", quadrant, shift)
    square = r * r
    sine = r + m.fma(m.horner(square, _SIN) * square, r, error)
    fourth = m.fma(m.horner(square, _COS) * square, square, -(r * error))
    half = square * 0.5
    high = m.constant(1.0) - half
    # 1 - half is rounded; what it lost comes back with the small terms.
    cosine = high + (((m.constant(1.0) - high) - half) + fourth)
    odd = m.int_binary("arith.andi", quadrant, 1)
    result = m.select(m.int_compare("ne", odd, 0), cosine, sine)
    negative = m.int_binary("arith.andi", quadrant, 2)
    sign = m.int_binary("arith.shli", negative, 30)
    return m.from_bits(m.int_binary("arith.xori", m.bits(result), sign))


def _with_library(
    m: Emitter, x: Expr, result: Expr, library: Callable[[], Expr]
) -> Expr:
    """`result`, but the library's value where |x| is not below LIMIT."""
    large = m.compare("ge", m.abs(x), LIMIT)

    def blend() -> Expr:
        return m.select(large, library(), result)

    return m.if_any(large, blend, result)


@expands("math.sin", with_library=True)
def sin(m: Emitter, x: Expr, library: Callable[[], Expr]) -> Expr:
    """Sine. Maximal error 0.9 ulp below 1e5, the library's beyond."""
    result = sin_or_cos(m, x, 0)
    # r + ... turns -0.0 into 0.0; sin(x) rounds to x here.
    result = m.select(m.compare("lt", m.abs(x), 2.0**-13), x, result)
    return _with_library(m, x, result, library)


@expands("math.cos", with_library=True)
def cos(m: Emitter, x: Expr, library: Callable[[], Expr]) -> Expr:
    """Cosine. Maximal error 0.9 ulp below 1e5, the library's beyond."""
    return _with_library(m, x, sin_or_cos(m, x, 1), library)
