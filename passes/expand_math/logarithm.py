"""log, log2, log10 and log1p of float32.

x = 2**k * m with m in [sqrt(1/2), sqrt(2)); log(m) is f - f**2/2 + f**3 * P(f) with
f = m - 1 and P a minimax polynomial (see exponential.py). Terms are added from the
smallest, and k's multiple of the constant comes in two parts.
"""

from __future__ import annotations

import math

from girih.passes.expand_math.emitter import Emitter, Expr
from girih.passes.expand_math.rules import expands

LN2_HIGH = 0.693145752
LN2_LOW = 1.42860682e-06
LOG2_E_HIGH = 1.44269502
LOG2_E_LOW = 1.92596303e-08
LOG10_E_HIGH = 0.434294492
LOG10_E_LOW = -1.01030497e-08
# log10(2); k * LOG10_2_HIGH is exact for |k| < 2**9.
LOG10_2_HIGH = 0.301029205
LOG10_2_LOW = 7.90341702e-07

_SQRT_HALF_BITS = 0x3F3504F3
_SMALLEST_NORMAL = 1.17549435e-38

# (log(1 + f) - f + f**2/2) / f**3; relative error of the sum 2**-30.3.
_LOG = (
    0.0674983785,
    -0.116711691,
    0.118838757,
    -0.124061152,
    0.142203107,
    -0.166679919,
    0.20002073,
    -0.250000089,
    0.333333135,
)


def split(m: Emitter, x: Expr) -> tuple[Expr, Expr]:
    """f = m - 1 and the integer k, for positive normal x."""
    offset = m.int_binary("arith.subi", m.bits(x), _SQRT_HALF_BITS)
    k = m.int_binary("arith.shrsi", offset, 23)
    shift = m.int_binary("arith.shli", k, 23)
    mantissa = m.from_bits(m.int_binary("arith.subi", m.bits(x), shift))
    return mantissa - 1.0, k


def split_any(m: Emitter, x: Expr) -> tuple[Expr, Expr]:
    """f and k as a float, for positive x, denormal or not."""
    small = m.compare("lt", x, _SMALLEST_NORMAL)
    scaled = m.select(small, x * 2.0**23, x)
    f, k = split(m, scaled)
    return f, m.to_float(k) + m.select(small, -23.0, 0.0)


def low_part(m: Emitter, f: Expr) -> Expr:
    """log(1 + f) - f."""
    square = f * f
    return m.fma(m.horner(f, _LOG) * f, square, square * -0.5)


def with_special_cases(m: Emitter, x: Expr, result: Expr) -> Expr:
    """-inf at 0, NaN below, and inf and NaN as they are."""
    finite = m.compare("lt", x, math.inf)
    result = m.select(finite, result, x)
    result = m.select(m.compare("lt", x, 0.0), math.nan, result)
    return m.select(m.compare("eq", x, 0.0), -math.inf, result)


@expands("math.log")
def log(m: Emitter, x: Expr) -> Expr:
    """Natural logarithm. Maximal error 0.8 ulp."""
    f, k = split_any(m, x)
    low = m.fma(k, LN2_LOW, low_part(m, f))
    return with_special_cases(m, x, m.fma(k, LN2_HIGH, f + low))


@expands("math.log2")
def log2(m: Emitter, x: Expr) -> Expr:
    """Logarithm to base 2. Maximal error 0.9 ulp; exact for powers of two."""
    f, k = split_any(m, x)
    high, low = _scaled(m, f, low_part(m, f), LOG2_E_HIGH, LOG2_E_LOW)
    return with_special_cases(m, x, k + (high + low))


@expands("math.log10")
def log10(m: Emitter, x: Expr) -> Expr:
    """Logarithm to base 10. Maximal error 0.9 ulp."""
    f, k = split_any(m, x)
    high, low = _scaled(m, f, low_part(m, f), LOG10_E_HIGH, LOG10_E_LOW)
    low = m.fma(k, LOG10_2_LOW, low)
    return with_special_cases(m, x, m.fma(k, LOG10_2_HIGH, high + low))


def _scaled(
    m: Emitter, f: Expr, low: Expr, factor: float, factor_low: float
) -> tuple[Expr, Expr]:
    """(f + low) * (factor + factor_low) as a rounded product and the rest."""
    high = f * factor
    rest = m.fma(f, factor, -high)
    return high, m.fma(low, factor, m.fma(f, factor_low, rest))


@expands("math.log1p")
def log1p(m: Emitter, x: Expr) -> Expr:
    """log(1 + x). Maximal error 0.95 ulp.

    s = 1 + x is rounded; its error e enters as e / s, for which few bits are enough.
    """
    s = x + 1.0
    back = s - 1.0
    error = (x - back) + (m.constant(1.0) - (s - back))
    f, k = split(m, s)
    negated = m.int_binary("arith.subi", m.int_constant(0), k)
    # Where the bound acts, e is 0.
    scale = m.power_of_two(m.int_binary("arith.maxsi", negated, -126))
    correction = error * scale * m.fma(f, f - 1.0, 1.0)
    exponent = m.to_float(k)
    low = m.fma(exponent, LN2_LOW, low_part(m, f) + correction)
    result = m.fma(exponent, LN2_HIGH, f + low)
    result = with_special_cases(m, s, result)
    # Here log(1 + x) rounds to x; keeps the sign of zero.
    return m.select(m.compare("lt", m.abs(x), 2.0**-25), x, result)
