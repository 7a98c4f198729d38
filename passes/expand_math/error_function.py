"""erf of float32."""

from __future__ import annotations

from girih.passes.expand_math.emitter import Emitter, Expr
from girih.passes.expand_math.exponential import exp
from girih.passes.expand_math.rules import expands

# erf(x) / x - 1 in powers of x**2, for |x| < 0.93; error 2**-30.1 of erf.
ERF_SMALL = (
    8.29233759e-05,
    -0.000812305138,
    0.00519913901,
    -0.0268585309,
    0.112836763,
    -0.376126319,
    0.128379166,
)
# -log(erfc(x)) / x - 1 for 0.9 < x < 3.95; error of erfc 2**-30.2.
ERF_LARGE = (
    1.076629e-05,
    -0.000318091654,
    0.00362305064,
    -0.0237204656,
    0.106187932,
    0.635181308,
    0.12864101,
)
ERF_BOUNDARY = 0.93
# erf(x) rounds to 1 from here on.
ERF_ONE_FROM = 3.95


@expands("math.erf")
def erf(m: Emitter, x: Expr) -> Expr:
    """Error function. Maximal error 1 ulp.

    x + x * p(x**2) below 0.93, 1 - e**(-|x| (1 + q(|x|))) above.
    """
    magnitude = m.abs(x)
    small = m.fma(m.horner(x * x, ERF_SMALL), x, x)
    bounded = m.at_most(magnitude, ERF_ONE_FROM)
    logarithm = m.fma(m.horner(bounded, ERF_LARGE), -bounded, -bounded)
    complement = exp(m, logarithm)
    large = m.copysign(m.constant(1.0) - complement, x)
    return m.select(m.compare("lt", magnitude, ERF_BOUNDARY), small, large)
