"""Elementwise functions, of several operands or rare, declared on their classes.

Operands broadcast. ``Source`` of all:
https://docs.pytorch.org/docs/stable/torch.html#math-operations
"""

from math import inf, pi
from typing import Any

from girih.dialects.graph.elementwise_classes import (
    Binary,
    Predicate,
    RealFloatUnary,
)
from girih.dialects.graph.formulas import Promotes, Sample, of_operand, of_operands
from girih.dialects.traits import JUMPS, Role


def _atan2_gradient(f: Any, g: Any, y: Any, x: Any) -> tuple:
    square = y * y + x * x
    inverse = f.where(f.eq(square, 0.0), 0.0, f.reciprocal(square))
    return g * x * inverse, g * -y * inverse


class Atan2Op(Binary, name="atan2"):
    """y = the angle of the point (rhs, lhs), from -pi to pi."""

    ATEN = "default"
    PROMOTES = Promotes.TO_FLOAT
    ELEMENTS = "real float"
    INSTRUCTIONS = 35
    EMIT = "math.atan2"
    GRADIENT = of_operands(_atan2_gradient)
    SAMPLE = Sample(-3, 3, order=2)


def _hypot(f: Any, x: Any, y: Any) -> Any:
    x, y = f.abs(x), f.abs(y)
    small, large = f.where(x > y, y, x), f.where(x > y, x, y)
    ratio = small / large
    length = large * f.sqrt(ratio * ratio + 1)
    length = f.where(large.equals(0), small, length)
    return f.where(x.equals(inf), inf, f.where(y.equals(inf), inf, length))


def _hypot_gradient(f: Any, g: Any, x: Any, y: Any) -> tuple:
    length = f.hypot(x, y)
    return g * (x / length), g * (y / length)


class HypotOp(Binary, name="hypot"):
    """y = (lhs**2 + rhs**2)**0.5, which overflows with the result only."""

    ATEN = "default"
    PROMOTES = Promotes.COMMON
    ELEMENTS = "real float"
    INSTRUCTIONS = 20
    EMIT = _hypot
    GRADIENT = of_operands(_hypot_gradient)
    SAMPLE = Sample(-3, 3, order=2)


class Deg2radOp(RealFloatUnary, name="deg2rad"):
    """y = x * pi / 180."""

    PROMOTES = Promotes.SCALED
    ROLE = Role.COMPOSITE
    VALUE = staticmethod(lambda f, x: x * (pi / 180))
    GRADIENT = of_operand(lambda f, g, x: g * (pi / 180))
    SAMPLE = Sample(-360, 360)


class Rad2degOp(RealFloatUnary, name="rad2deg"):
    """y = x * 180 / pi."""

    PROMOTES = Promotes.SCALED
    ROLE = Role.COMPOSITE
    VALUE = staticmethod(lambda f, x: x * (180 / pi))
    GRADIENT = of_operand(lambda f, g, x: g * (180 / pi))
    SAMPLE = Sample(-7, 7)


class IsposinfOp(Predicate, name="isposinf", traits={JUMPS}):
    """y = x is infinite and above 0."""

    ELEMENTS = "real float"
    PROMOTES = Promotes.COMPARES
    ROLE = Role.COMPOSITE
    VALUE = staticmethod(lambda f, x: f.eq(x, inf))
    SAMPLE = Sample(-1, 1)


class IsneginfOp(Predicate, name="isneginf", traits={JUMPS}):
    """y = x is infinite and below 0."""

    ELEMENTS = "real float"
    PROMOTES = Promotes.COMPARES
    ROLE = Role.COMPOSITE
    VALUE = staticmethod(lambda f, x: f.eq(x, -inf))
    SAMPLE = Sample(-1, 1)
