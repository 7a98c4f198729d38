"""tanh of float32."""

from __future__ import annotations

from girih.passes.expand_math.emitter import Emitter, Expr
from girih.passes.expand_math.exponential import exp
from girih.passes.expand_math.rules import expands

# (tanh(x) - x) / x**3 in powers of x**2, for |x| < 1; error 2**-27.7 of tanh.
_SMALL = (
    -0.00035842025,
    0.00230129366,
    -0.0079460796,
    0.0214867033,
    -0.0538798496,
    0.133323461,
    -0.333332956,
)


@expands("math.tanh")
def tanh(m: Emitter, x: Expr) -> Expr:
    """Hyperbolic tangent. Maximal error 1 ulp.

    A polynomial below 1; above, 1 - 2 / (e**(2|x|) + 1), whose error is small against
    a result between 0.76 and 1.
    """
    magnitude = m.abs(x)
    square = magnitude * magnitude
    small = m.fma(m.horner(square, _SMALL) * square, magnitude, magnitude)
    large = m.constant(1.0) - m.constant(2.0) / (exp(m, magnitude + magnitude) + 1.0)
    is_small = m.compare("lt", magnitude, 1.0)
    return m.copysign(m.select(is_small, small, large), x)
