"""exp, exp2 and expm1 of float32.

All three reduce the argument to r in [-log(2)/2, log(2)/2] and an integer n, take a
minimax polynomial of r (Remez exchange, coefficients rounded to float32 one after
the other from the lowest power, the rest fitted again each time) and scale by 2**n.

Source: the method is that of W. J. Cody and W. Waite, Software Manual for the
Elementary Functions, 1980.
"""

from __future__ import annotations

from girih.passes.expand_math.emitter import Emitter, Expr
from girih.passes.expand_math.rules import expands

LOG2_E = 1.44269504
# log(2) in two parts; n * LN2_HIGH is exact for |n| < 2**9.
LN2_HIGH = 0.693145752
LN2_LOW = 1.42860682e-06

# (e**r - 1 - r) / r**2; relative error of the sum 2**-28.2.
_EXP = (0.00139395997, 0.00836881995, 0.0416664146, 0.166665196, 0.5)
# The same, error 2**-33.1 of e**r, because expm1 has no 1 to hide it.
_EXPM1 = (0.000199476475, 0.00139350945, 0.00833320431, 0.041666463, 0.166666672, 0.5)
# (2**r - 1) / r; relative error of the sum 2**-28.2.
_EXP2 = (
    0.000154628608,
    0.00133909902,
    0.00961806253,
    0.0555035956,
    0.240226507,
    0.693147182,
)


def reduce_by_ln2(m: Emitter, x: Expr) -> tuple[Expr, Expr]:
    """r and the integer n with x = n * log(2) + r."""
    n, integer = m.round_scaled(x, LOG2_E)
    r = m.fma(n, -LN2_HIGH, x)
    return m.fma(n, -LN2_LOW, r), integer


@expands("math.exp")
def exp(m: Emitter, x: Expr) -> Expr:
    """e**x. Maximal error 0.9 ulp, denormal results included."""
    # Beyond these bounds the result is infinite or rounds to zero.
    x = m.at_least(m.at_most(x, 89.0), -104.0)
    r, n = reduce_by_ln2(m, x)
    return m.ldexp(m.horner(r, (*_EXP, 1.0, 1.0)), n)


@expands("math.exp2")
def exp2(m: Emitter, x: Expr) -> Expr:
    """2**x. Maximal error 0.9 ulp, denormal results included."""
    x = m.at_least(m.at_most(x, 129.0), -151.0)
    n, integer = m.round_scaled(x, 1.0)
    r = x - n
    return m.ldexp(m.fma(m.horner(r, _EXP2), r, 1.0), integer)


@expands("math.expm1")
def expm1(m: Emitter, x: Expr) -> Expr:
    """e**x - 1. Maximal error 0.9 ulp.

    e**x - 1 = (2**n - 1) + 2**n * (r + q), where r and the sums carry their rounding
    errors along. Everything is halved, so that n = 128 does not overflow early.
    """
    bounded = m.at_least(m.at_most(x, 89.0), -20.0)
    n, integer = m.round_scaled(bounded, LOG2_E)
    head = m.fma(n, -LN2_HIGH, bounded)
    r = m.fma(n, -LN2_LOW, head)
    r_error = m.fma(n, -LN2_LOW, head - r)
    tail = m.fma(m.horner(r, _EXPM1), r * r, r_error)
    scale = m.power_of_two(m.int_binary("arith.subi", integer, 1))
    offset = scale - 0.5
    high = m.fma(scale, r, offset)
    low = m.fma(scale, r, offset - high) + ((scale - offset) - 0.5)
    result = (high + m.fma(scale, tail, low)) * 2.0
    # Here e**x - 1 rounds to x; keeps the sign of zero and denormals.
    return m.select(m.compare("lt", m.abs(x), 2.0**-25), x, result)
