"""Bessel functions, whole on their classes: kernel and ATen operator.

``special`` says how they are written, and has I0 and I1 with their derivatives.
``Source`` of all: https://dlmf.nist.gov/10
"""

from math import inf, nan, pi
from typing import Any

from girih.dialects.graph import series_bessel as series
from girih.dialects.graph.elementwise_classes import FloatFunction
from girih.dialects.graph.formulas import NONE_IN_TORCH, Sample, of_operand
from girih.dialects.graph.special import I0Op, I1Op

# Two zeros of J0 and of J1, each in two parts.
_ZEROS = (
    (
        (2.404825448989868, 1.0870590460455913e-07),
        (5.520078182220459, -7.19341483347784e-08),
    ),
    (
        (3.8317060470581055, -7.685059315313556e-08),
        (7.015586853027344, -1.8321172499646294e-07),
    ),
)

# The zeros from 5 to 8, each in two parts, and the series of J and of Y by order.
_MIDDLE_FIRST = (
    (*_ZEROS[0][1], series.BESSEL_J0_MIDDLE),
    (*_ZEROS[1][1], series.BESSEL_J1_MIDDLE),
)
_MIDDLE_SECOND = (
    (7.086050987243652, 7.305812035387363e-08, series.BESSEL_Y0_MIDDLE),
    (5.429680824279785, 2.16514349976522e-07, series.BESSEL_Y1_MIDDLE),
)


def _middle(f: Any, x: Any, high: float, low: float, terms: tuple) -> Any:
    """J or Y of x from 5 to 8, where the terms of the series around 0 cancel."""
    t = (x - 6.5) * (1 / 1.5)
    return f.series(t, terms, times=(x - high) - low)


def _near(f: Any, order: int, x: Any) -> Any:
    """J of x from 0 to 5."""
    terms = (series.BESSEL_J0, series.BESSEL_J1)[order]
    product = x if order else None
    for high, low in _ZEROS[order]:
        factor = ((x - high) - low) * (x + (high + low))
        product = factor if product is None else product * factor
    return f.series(x * x * (1 / 32) - 1, terms, times=product)


def _waves(f: Any, order: int, x: Any) -> tuple[Any, Any]:
    """J and Y of x from 8.

    The sine and cosine of x - pi / 4 are those of x: a difference would be rounded.
    """
    sine, cosine = f.sin(x), f.cos(x)
    total, difference = sine + cosine, sine - cosine
    if order:
        total, difference = difference, -total
    reciprocal = 8 / x
    t = reciprocal * reciprocal * 2 - 1
    terms = ("BESSEL_P0", "BESSEL_Q0") if order == 0 else ("BESSEL_P1", "BESSEL_Q1")
    p, q = (f.series(t, getattr(series, name)) for name in terms)
    q = q / x
    scale = f.sqrt(x * pi)
    return (p * total - q * difference) / scale, (p * difference + q * total) / scale


def _first_kind(order: int) -> Any:
    def formula(f: Any, x: Any) -> Any:
        size = f.abs(x)
        middle = _middle(f, size, *_MIDDLE_FIRST[order])
        near = f.where(size > 5, middle, _near(f, order, size))
        result = f.where(size > 8, _waves(f, order, size)[0], near)
        if not order:
            return result
        return f.where(x.equals(0), x, f.where(x < 0, -result, result))

    return formula


def _second_kind(order: int) -> Any:
    terms = (series.BESSEL_Y0, series.BESSEL_Y1)[order]

    def formula(f: Any, x: Any) -> Any:
        rest = f.series(x * x * (1 / 32) - 1, terms)
        near = f.log(x) * _near(f, order, x)
        if order:
            near = (near - 1 / x) * (2 / pi) + rest * x
        else:
            near = near * (2 / pi) + rest
        near = f.where(x.equals(0), -inf, near)
        near = f.where(x > 5, _middle(f, x, *_MIDDLE_SECOND[order]), near)
        return f.where(x > 8, _waves(f, order, x)[1], near)

    return formula


class BesselJ0Op(FloatFunction, name="bessel_j0"):
    """y = the Bessel function of the first kind, of order 0."""

    INSTRUCTIONS = 160
    ATEN = "special_bessel_j0.default"
    EMIT = _first_kind(0)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(-40, 40)


class BesselJ1Op(FloatFunction, name="bessel_j1"):
    """y = the Bessel function of the first kind, of order 1."""

    INSTRUCTIONS = 160
    ATEN = "special_bessel_j1.default"
    EMIT = _first_kind(1)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(-40, 40)


class BesselY0Op(FloatFunction, name="bessel_y0"):
    """y = the Bessel function of the second kind, of order 0; NaN below 0."""

    INSTRUCTIONS = 200
    ATEN = "special_bessel_y0.default"
    EMIT = _second_kind(0)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(0.01, 40)


class BesselY1Op(FloatFunction, name="bessel_y1"):
    """y = the Bessel function of the second kind, of order 1; NaN below 0."""

    INSTRUCTIONS = 200
    ATEN = "special_bessel_y1.default"
    EMIT = _second_kind(1)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(0.01, 40)


def _not_at_infinity(formula: Any) -> Any:
    """NaN at the infinities, as torch's."""
    return lambda f, x: f.where(f.abs(x).equals(inf), nan, formula(f, x))


class ModifiedBesselI0Op(FloatFunction, name="modified_bessel_i0"):
    """y = i0(x); NaN at the infinities."""

    INSTRUCTIONS = 60
    ATEN = "special_modified_bessel_i0.default"
    EMIT = _not_at_infinity(I0Op.EMIT)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(-60, 60)


class ModifiedBesselI1Op(FloatFunction, name="modified_bessel_i1"):
    """y = i1(x); NaN at the infinities."""

    INSTRUCTIONS = 60
    ATEN = "special_modified_bessel_i1.default"
    EMIT = _not_at_infinity(I1Op.EMIT)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(-60, 60)


def _modified_second_kind(order: int, *, is_scaled: bool) -> Any:
    def formula(f: Any, x: Any) -> Any:
        t = x * x * 0.5 - 1
        logarithm = f.log(x * 0.5)
        if order:
            product = logarithm * f.series(t, series.BESSEL_I1, times=x)
            near = f.series(t, series.BESSEL_K1_NEAR) / x + product
        else:
            product = logarithm * f.series(t, series.BESSEL_I0)
            near = f.series(t, series.BESSEL_K0_NEAR) - product
        terms = (series.BESSEL_K0_FAR, series.BESSEL_K1_FAR)[order]
        far = f.series(4 / x - 1, terms) / f.sqrt(x)
        if is_scaled:
            near = near * f.exp(x)
        else:
            far = far * f.exp(-x)
        near = f.where(x.equals(0), inf, near)
        return f.where(x > 2, far, near)

    return formula


class ModifiedBesselK0Op(FloatFunction, name="modified_bessel_k0"):
    """y = the modified Bessel function of the second kind, of order 0."""

    INSTRUCTIONS = 100
    ATEN = "special_modified_bessel_k0.default"
    EMIT = _modified_second_kind(0, is_scaled=False)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(0.01, 60)


class ModifiedBesselK1Op(FloatFunction, name="modified_bessel_k1"):
    """y = the modified Bessel function of the second kind, of order 1."""

    INSTRUCTIONS = 100
    ATEN = "special_modified_bessel_k1.default"
    EMIT = _modified_second_kind(1, is_scaled=False)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(0.01, 60)


class ScaledModifiedBesselK0Op(FloatFunction, name="scaled_modified_bessel_k0"):
    """y = e**x * modified_bessel_k0(x)."""

    INSTRUCTIONS = 100
    ATEN = "special_scaled_modified_bessel_k0.default"
    EMIT = _modified_second_kind(0, is_scaled=True)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(0.01, 60)


class ScaledModifiedBesselK1Op(FloatFunction, name="scaled_modified_bessel_k1"):
    """y = e**x * modified_bessel_k1(x)."""

    INSTRUCTIONS = 100
    ATEN = "special_scaled_modified_bessel_k1.default"
    EMIT = _modified_second_kind(1, is_scaled=True)
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(0.01, 60)


def _spherical(f: Any, x: Any) -> Any:
    value = f.where(f.abs(x).equals(inf), 0.0, f.sin(x) / x)
    return f.where(x.equals(0), 1.0, value)


class SphericalBesselJ0Op(FloatFunction, name="spherical_bessel_j0"):
    """y = sin(x) / x."""

    INSTRUCTIONS = 40
    ATEN = "special_spherical_bessel_j0.default"
    EMIT = _spherical
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(-40, 40)


def _sinc(f: Any, x: Any) -> Any:
    angle = x * pi
    return f.where(x.equals(0), 1.0, f.sin(angle) / angle)


def _slope_of_sinc(f: Any, g: Any, x: Any) -> Any:
    square = x * x * pi
    is_zero = f.eq(square, 0.0)
    angle = x * pi
    slope = (f.cos(angle) * angle - f.sin(angle)) / f.where(is_zero, 1.0, square)
    return f.where(is_zero, 0.0, g * slope)


class SincOp(FloatFunction, name="sinc"):
    """y = sin(pi x) / (pi x)."""

    INSTRUCTIONS = 40
    ATEN = "default"
    EMIT = _sinc
    GRADIENT = of_operand(_slope_of_sinc)
    SAMPLE = Sample(-12, 12)
