"""Import rules of logarithms of several steps, with eager's derivatives at the ends."""

from __future__ import annotations

import math

import torch

from girih.dialects.rounding import rounded as round_to
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.elements import ELEMENT_NAMES
from girih.frontend.importer.elementwise import (
    promoted,
    promoted_to_float,
    rounded,
)
from girih.frontend.importer.gradients import with_gradient
from girih.frontend.importer.reduction import widened
from girih.frontend.importer.registry import imports


@imports("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def xlogy(b: Builder, self, other):
    """self * log(other); 0 where self is 0, but NaN where other is NaN."""
    return _times_logarithm(b, self, other, "log", 0)


@imports(
    "special_xlog1py", "special_xlog1py.other_scalar", "special_xlog1py.self_scalar"
)
def xlog1py(b: Builder, self, other):
    """self * log(1 + other), as xlogy."""
    return _times_logarithm(b, self, other, "log1p", 1)


def _times_logarithm(b: Builder, self, other, name: str, offset: int) -> Operand:
    """self * log(offset + other), with eager's derivative where self is 0."""
    dtype = b.out[0].dtype
    x, y = (rounded(b, value, dtype) for value in (self, other))
    x, y = (b.broadcast_to(widened(b, v), b.out[0].shape) for v in (x, y))

    def product(x: Operand) -> Operand:
        zero = b.constant(0, x.dtype)
        value = b.mul(x, b.unary(name, y))
        value = b.where(b.compare("eq", x, zero), zero, value)
        return b.where(b.predicate("isnan", y), y, value)

    def gradient(g: Operand) -> list[Operand]:
        zero, lowest = b.constant(0, g.dtype), b.constant(-offset, g.dtype)
        is_zero, is_low = b.compare("eq", x, zero), b.compare("le", y, lowest)
        flat = b.binary("logical_and", is_zero, is_low)
        argument = b.add(y, b.constant(1, y.dtype)) if offset else y
        return [b.where(flat, zero, product(g)), b.div(b.mul(g, x), argument)]

    result = with_gradient(b, product(x), [x, y], gradient)
    return b.cast(result, b.out[0].dtype)


@imports("logaddexp")
def logaddexp(b: Builder, self, other):
    """log(e**self + e**other), without overflow."""
    x, y = (widened(b, value) for value in promoted(b, self, other))
    x, y = (b.broadcast_to(value, b.out[0].shape) for value in (x, y))
    distance = b.unary("abs", b.sub(x, y))
    rest = b.unary("log1p", b.unary("exp", b.unary("neg", distance)))
    value = b.add(b.binary("maximum", x, y), rest)
    # The distance of equal infinities is NaN.
    same = b.binary("logical_and", b.predicate("isinf", x), b.compare("eq", x, y))

    def gradient(g: Operand) -> list[Operand]:
        one = b.constant(1, g.dtype)
        differences = (b.sub(y, x), b.sub(x, y))
        return [b.div(g, b.add(one, b.unary("exp", d))) for d in differences]

    result = with_gradient(b, b.where(same, x, value), [x, y], gradient)
    return b.cast(result, b.out[0].dtype)


def _bounds(b: Builder, eps: float, dtype: torch.dtype) -> list[Operand]:
    """eps and 1 - eps, which ATen rounds on a CPU where the result has 16 bits."""
    result = b.out[0].dtype
    stored = ELEMENT_NAMES[result if b.device.type == "cpu" else dtype]
    low = round_to(eps, stored)
    return [b.constant(bound, dtype) for bound in (low, round_to(1 - low, stored))]


@imports("logit")
def logit(b: Builder, self, eps=None):
    """log(x / (1 - x)); x is kept eps away from 0 and 1."""
    (x,) = (widened(b, value) for value in promoted_to_float(b, self))
    one, (low, high) = b.constant(1, x.dtype), _bounds(b, eps or 0.0, x.dtype)
    kept = x
    if eps is not None:
        # Where the bounds have changed places, eager's choice is the lower one first.
        kept = b.where(b.compare("gt", x, high), high, x)
        kept = b.where(b.compare("lt", x, low), low, kept)
    value = b.unary("log", b.div(kept, b.sub(one, kept)))

    def gradient(g: Operand) -> list[Operand]:
        below, above = b.compare("lt", x, low), b.compare("gt", x, high)
        is_outside = b.binary("logical_or", below, above)
        outside = b.constant(math.nan if eps is None else 0, g.dtype)
        slope = b.mul(x, b.sub(one, x))
        return [b.where(is_outside, outside, b.div(g, slope))]

    result = with_gradient(b, value, [x], gradient)
    return b.cast(result, b.out[0].dtype)
