"""Gamma functions, whole on their classes: kernel, derivative and ATen operator.

``special`` says how they are written. ``Source`` of all:
https://dlmf.nist.gov/5
"""

from math import factorial, inf, log, nan, pi
from typing import Any

from girih.dialects.attributes import INT
from girih.dialects.fields import attribute
from girih.dialects.graph import series_gamma as series
from girih.dialects.graph.elementwise_classes import FloatFunction
from girih.dialects.graph.formulas import Sample, of_operand
from girih.dialects.rules import expect

# Above here 1 + x is as good as x; below its negative the function is reflected.
_LEAST = -0.25


def _from_whole(f: Any, x: Any) -> Any:
    """x less the nearest whole number, exactly."""
    return x - f.roundeven(x)


def _cotangent(f: Any, rest: Any) -> Any:
    """cot(pi rest), of rest from -1/2 to 1/2."""
    size = f.abs(rest)
    is_far = size > 0.25
    angle = f.where(is_far, 0.5 - size, size) * pi
    sine, cosine = f.sin(angle), f.cos(angle)
    result = f.where(is_far, sine, cosine) / f.where(is_far, cosine, sine)
    return f.where(rest < 0, -result, result)


def _near(x: Any) -> Any:
    return (x - 1.875) * (8 / 9)


def _middle(x: Any) -> Any:
    return x * 0.4 - 2.2


def _far(x: Any) -> Any:
    reciprocal = 8 / x
    return reciprocal * reciprocal * 2 - 1


def _log_gamma_above(f: Any, x: Any, size: Any) -> Any:
    """Of x above ``_LEAST``, whose logarithm is that of size."""
    logarithm = f.log(size)
    below = f.series(_near(x + 1), series.LOG_GAMMA_NEAR, times=x * (x - 1)) - logarithm
    product = (x - 1) * (x - 2)
    near = f.series(_near(x), series.LOG_GAMMA_NEAR, times=product)
    middle = f.series(_middle(x), series.LOG_GAMMA_MIDDLE, times=product)
    rest = f.series(_far(x), series.LOG_GAMMA_FAR) / x + (log(2 * pi) - 1) / 2
    far = f.fma(x - 0.5, logarithm - 1, rest)
    result = f.where(x > 3, f.where(x > 8, far, middle), near + 0.0)  # 0 at 1, not -0
    return f.where(x < 1, below, result)


def _log_gamma(f: Any, x: Any) -> Any:
    size = f.abs(x)
    is_low = x < _LEAST
    above = _log_gamma_above(f, f.where(is_low, size, x), size)
    rest = _from_whole(f, x)
    sine = f.abs(f.sin(rest * pi))
    low = log(pi) - f.log(sine * size) - above
    pole = f.where(rest.equals(0), inf, low)
    result = f.where(is_low, pole, above)
    return f.where(size.equals(inf), inf, result)


class LgammaOp(FloatFunction, name="lgamma"):
    """y = ln |gamma(x)|."""

    INSTRUCTIONS = 160
    ATEN = "default"
    EMIT = _log_gamma
    GRADIENT = of_operand(lambda f, g, x: g * f.digamma(x))
    SAMPLE = Sample(0.01, 30)


# The zero of digamma, in two parts.
_ZERO, _ZERO_LOW = 1.4616321325302124, 1.2438149938918909e-08


def _digamma_above(f: Any, x: Any) -> Any:
    """Of x above ``_LEAST``."""
    from_zero = (x - (_ZERO - 1)) - _ZERO_LOW
    below = f.series(_near(x + 1), series.DIGAMMA_NEAR, times=from_zero) - 1 / x
    from_zero = (x - _ZERO) - _ZERO_LOW
    near = f.series(_near(x), series.DIGAMMA_NEAR, times=from_zero)
    middle = f.series(_middle(x), series.DIGAMMA_MIDDLE)
    rest = f.series(_far(x), series.DIGAMMA_FAR) / x + 0.5
    far = f.log(x) - rest / x
    result = f.where(x > 3, f.where(x > 8, far, middle), near)
    return f.where(x < 1, below, result)


def _digamma(f: Any, x: Any) -> Any:
    is_low = x < _LEAST
    above = _digamma_above(f, f.where(is_low, -x, x))
    rest = _from_whole(f, x)
    low = above - 1 / x - _cotangent(f, rest) * pi
    pole = f.where(rest.equals(0), nan, low)
    return f.where(x.equals(-inf), nan, f.where(is_low, pole, above))


class DigammaOp(FloatFunction, name="digamma"):
    """y = the derivative of ln gamma(x)."""

    INSTRUCTIONS = 150
    ATEN = "default"
    EMIT = _digamma
    GRADIENT = of_operand(lambda f, g, x: g * f.polygamma(x, n=1))
    SAMPLE = Sample(0.01, 30)


# B(2j) / (2j)! for j from 1.
_BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
)
_TERMS = 9


def _power(x: Any, exponent: int) -> Any:
    """x times itself, by squares."""
    half = _power(x, exponent // 2) if exponent > 1 else None
    if half is None:
        return x
    return half * half * x if exponent % 2 else half * half


def _zeta(f: Any, s: int, x: Any) -> Any:
    """The sum of (x + k)**-s for all k from 0, x above 0, by Euler and Maclaurin."""
    end = x + _TERMS
    inverse = 1 / end
    square = inverse * inverse
    rest, factor = None, float(s)
    corrections = []
    for j, number in enumerate(_BERNOULLI):
        corrections.append(number * factor)
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2)
    for correction in reversed(corrections):
        rest = correction if rest is None else square * rest + correction
    # end / (s - 1) + 1 / 2 + corrections / end, all over end**s
    tail = (end * (1 / (s - 1)) + 0.5 + inverse * rest) * _power(inverse, s)
    for k in range(_TERMS - 1, 0, -1):
        tail = tail + 1 / _power(x + k, s)
    return tail + 1 / _power(x, s)


def _derivative_of_cotangent(n: int) -> list[int]:
    """The nth derivative of cot, in powers of cot."""
    powers = [0, 1]
    for _ in range(n):
        slope = [k * part for k, part in enumerate(powers)][1:]
        powers = [0] * (len(slope) + 2)
        for k, part in enumerate(slope):
            powers[k] -= part
            powers[k + 2] -= part
    return powers


def _polygamma(f: Any, x: Any, n: int) -> Any:
    sign = -1 if n % 2 == 0 else 1
    is_low = x < 0
    # The reflection wants it of 1 - x.
    value = _zeta(f, n + 1, f.where(is_low, 1 - x, x)) * float(sign * factorial(n))
    from_whole = _from_whole(f, x)
    cotangent = _cotangent(f, from_whole)
    powers = _derivative_of_cotangent(n)
    rest = cotangent * powers[-1] + powers[-2]
    for power in reversed(powers[:-2]):
        rest = f.fma(rest, cotangent, power)
    low = rest * -(pi ** (n + 1)) - value * sign
    pole = f.where(from_whole.equals(0), float(sign) * inf, low)
    result = f.where(is_low, pole, value)
    result = f.where(x.equals(0), float(sign) * inf, result)
    result = f.where(x.equals(inf), 0.0, result)
    return f.where(x.equals(-inf), nan, result)


class PolygammaOp(FloatFunction, name="polygamma"):
    """y = the nth derivative of digamma(x)."""

    INSTRUCTIONS = 130
    ATEN = "default"
    EMIT = _polygamma
    GRADIENT = of_operand(lambda f, g, x, n: g * f.polygamma(x, n=n + 1))
    SAMPLE = Sample(0.05, 20, ({"n": 1}, {"n": 2}, {"n": 5}))

    n = attribute(INT)

    @classmethod
    def arguments(cls, x: Any, numbers: Any) -> tuple:
        """The order comes first."""
        return (*numbers, x)

    @classmethod
    def takes(cls, number: Any) -> bool:
        """Derivatives of which float64 holds the factorials."""
        return type(number) is int and 1 <= number <= 8

    def verify_invariants(self) -> None:
        """The order is one of a derivative."""
        expect(self.n >= 1, "n", "be above 0", self.n)
