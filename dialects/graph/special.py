"""Special functions, whole on their classes: kernel, derivative and ATen operator.

Kernels compute Chebyshev series (``series``), and float32 those of its terms that it
can hold. Derivatives are eager's. ``Source`` of all:
https://docs.pytorch.org/docs/stable/special.html
"""

from math import inf, pi, sqrt
from typing import Any

from girih.dialects.graph import series
from girih.dialects.graph.elementwise_classes import FloatFunction
from girih.dialects.graph.formulas import Sample, of_operand, of_result

# Below it i1(x) / x is 1/2 to the last digit.
_TINY = 2.0**-27


def _entropy(f: Any, x: Any) -> Any:
    rest = f.where(x < 0, -inf, x)  # 0 and NaN stay
    return f.where(x > 0, -(x * f.log(x)), f.where(x.equals(0), 0.0, rest))


class EntrOp(FloatFunction, name="entr"):
    """y = -x ln x; 0 at 0, -inf below."""

    INSTRUCTIONS = 22
    ATEN = "special_entr.default"
    EMIT = _entropy
    GRADIENT = of_operand(lambda f, g, x: -(g * (f.log(x) + 1)))
    SAMPLE = Sample(1e-6, 20)


_ERFINV_HIGH = 0.8862269520759583
_ERFINV_LOW = sqrt(pi) / 2 - _ERFINV_HIGH


def _inverse_erf(f: Any, x: Any) -> Any:
    w = -f.log((1 - x) * (x + 1))
    root = f.sqrt(w)
    square = x * x
    # The first term is apart, with a part that float32 cannot hold.
    near = square * f.series(square * 4 - 1, series.ERFINV_NEAR) + _ERFINV_LOW
    near = f.fma(x, _ERFINV_HIGH, x * near)
    small = f.series(f.fma(w, 2 / 6.25, -1.0), series.ERFINV_SMALL, times=x)
    small = f.where(square > 0.5, small, near)
    middle = f.series(f.fma(root, 4 / 3, -13 / 3), series.ERFINV_MIDDLE, times=x)
    large = f.series(f.fma(root, 8 / 9, -41 / 9), series.ERFINV_LARGE, times=x)
    result = f.where(w > 6.25, f.where(root > 4, large, middle), small)
    result = f.where(x.equals(0), x, result)  # with its sign
    return f.where(f.abs(x).equals(1), x * inf, result)


class ErfinvOp(FloatFunction, name="erfinv"):
    """y = x of erf(y); NaN outside of [-1, 1]."""

    INSTRUCTIONS = 70
    ATEN = "default"
    EMIT = _inverse_erf
    GRADIENT = of_result(lambda f, g, y: f.exp(y * y) * (sqrt(pi) / 2) * g)
    SAMPLE = Sample(-0.9999, 0.9999)


def _scaled_erfc(f: Any, x: Any) -> Any:
    size = f.abs(x)
    upper = f.series(1 - 4 / (size + 2), series.ERFCX) / (size * 2 + 1)
    square = x * x
    error = f.fma(x, x, -square)
    power = f.exp(square)
    # Where the power overflows, the error is no number.
    lower = f.where(power.equals(inf), inf, power * (error + 1) * 2 - upper)
    return f.where(x < 0, lower, upper)


class ErfcxOp(FloatFunction, name="erfcx"):
    """y = e**(x*x) * erfc(x)."""

    INSTRUCTIONS = 60
    ATEN = "special_erfcx.default"
    EMIT = _scaled_erfc
    GRADIENT = of_operand(lambda f, g, x: (x * 2 * f.erfcx(x) - 2 / sqrt(pi)) * g)
    SAMPLE = Sample(-9, 20)


def _log_normal(f: Any, x: Any) -> Any:
    t = x * sqrt(0.5)
    low = f.log(_scaled_erfc(f, -t) * 0.5) - t * t
    return f.where(x < -1, low, f.log1p(f.erfc(t) * -0.5))


class LogNdtrOp(FloatFunction, name="log_ndtr"):
    """y = ln of the normal distribution below x."""

    INSTRUCTIONS = 110
    ATEN = "special_log_ndtr.default"
    EMIT = _log_normal
    GRADIENT = of_operand(lambda f, g, x: g / f.erfcx(-(x * sqrt(0.5))) * sqrt(2 / pi))
    SAMPLE = Sample(-15, -1)


def _inverse_normal(f: Any, x: Any) -> Any:
    q = x - 0.5
    center = f.series(q * q * (128 / 9) - 1, series.NDTRI_CENTER, times=q)
    tail = f.where(q > 0, 1 - x, x)
    w = f.sqrt(f.log(tail) * -2)
    middle = f.series(w * (1 / 3) - 5 / 3, series.NDTRI_MIDDLE, times=w)
    size = f.series(w * 0.0625 - 1.5, series.NDTRI_FAR, times=w)
    size = f.where(w > 8, size, middle)
    far = f.where(q > 0, size, -size)
    far = f.where(tail.equals(0), q * inf, far)
    return f.where(f.abs(q) > 0.375, far, center)


class NdtriOp(FloatFunction, name="ndtri"):
    """y = where the normal distribution below y is x; NaN outside of [0, 1]."""

    INSTRUCTIONS = 130
    ATEN = "special_ndtri.default"
    EMIT = _inverse_normal
    GRADIENT = of_result(lambda f, g, y: g * sqrt(2 * pi) * f.exp(y * y * 0.5))
    SAMPLE = Sample(1e-6, 1 - 1e-6)


def _bessel_0(f: Any, x: Any) -> Any:
    x = f.abs(x)
    small = f.series(x * 0.25 - 1, series.BESSEL_0_SMALL) / (x + 1)
    large = f.series(16 / x - 1, series.BESSEL_0_LARGE) / f.sqrt(x)
    return f.where(x > 8, large, small)


def _bessel_1(f: Any, x: Any) -> Any:
    size = f.abs(x)
    slope = f.series(size * 0.25 - 1, series.BESSEL_1_SMALL)
    small = slope * (size / ((size + 1) * (size + 1)))
    large = f.series(16 / size - 1, series.BESSEL_1_LARGE) / f.sqrt(size)
    result = f.where(size > 8, large, small)
    return f.where(x < 0, -result, result)  # 0 at -0, as eager's


class I0Op(FloatFunction, name="i0"):
    """y = the modified Bessel function of the first kind, of order 0."""

    INSTRUCTIONS = 60
    ATEN = "default"
    EMIT = lambda f, x: f.exp(f.abs(x)) * _bessel_0(f, x)  # noqa: E731
    GRADIENT = of_operand(lambda f, g, x: g * f.i1(x))
    SAMPLE = Sample(-60, 60)


class I0eOp(FloatFunction, name="i0e"):
    """y = e**-|x| * i0(x)."""

    INSTRUCTIONS = 50
    ATEN = "special_i0e.default"
    EMIT = _bessel_0
    GRADIENT = of_operand(lambda f, g, x: g * (f.i1e(x) - f.sign(x) * f.i0e(x)))
    SAMPLE = Sample(-100, 100)


def _slope_of_i1(f: Any, g: Any, x: Any) -> Any:
    is_large = f.gt(f.abs(x), _TINY)
    kept = f.where(is_large, x, _TINY)
    return g * f.where(is_large, f.i0(kept) - f.i1(kept) / kept, 0.5)


def _slope_of_i1e(f: Any, g: Any, x: Any) -> Any:
    is_large = f.gt(f.abs(x), _TINY)
    kept = f.where(is_large, x, _TINY)
    rest = f.i1e(kept) * (f.sign(kept) + f.reciprocal(kept))
    return g * f.where(is_large, f.i0e(kept) - rest, 0.5)


class I1Op(FloatFunction, name="i1"):
    """y = the modified Bessel function of the first kind, of order 1."""

    INSTRUCTIONS = 60
    ATEN = "special_i1.default"
    EMIT = lambda f, x: f.exp(f.abs(x)) * _bessel_1(f, x)  # noqa: E731
    GRADIENT = of_operand(_slope_of_i1)
    SAMPLE = Sample(-60, 60)


class I1eOp(FloatFunction, name="i1e"):
    """y = e**-|x| * i1(x)."""

    INSTRUCTIONS = 50
    ATEN = "special_i1e.default"
    EMIT = _bessel_1
    GRADIENT = of_operand(_slope_of_i1e)
    SAMPLE = Sample(-100, 100)
