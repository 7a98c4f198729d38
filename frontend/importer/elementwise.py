"""Import rules of elementwise ops: arithmetic, extrema and functions.

Type promotion is made explicit here: every operand is cast to the dtype in which ATen
computes, and the result to the dtype that eager gives.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from girih.dialects.dims import Dim
from girih.dialects.rounding import rounded as round_to
from girih.frontend.fake.promotion import combine_dtypes, scalar_dtype
from girih.frontend.importer.builder import Builder, Operand, Scalar
from girih.frontend.importer.elements import ELEMENT_NAMES, is_integral
from girih.frontend.importer.registry import imports

_HALVES = (torch.float16, torch.bfloat16)


def promoted_dtype(*values: Any) -> torch.dtype:
    """The dtype of a computation with these operands and numbers."""
    return combine_dtypes(
        (value.dtype, 1 if value.rank else 0)
        if isinstance(value, Operand)
        else (_number_dtype(value), 2)
        for value in values
        if value is not None
    )


def _number_dtype(value: Any) -> torch.dtype:
    if isinstance(value, Scalar):
        return value.dtype
    return torch.int64 if isinstance(value, Dim) else scalar_dtype(value)


def promoted(b: Builder, *values: Any) -> list[Operand]:
    """Operands and numbers as operands of the promoted dtype."""
    dtype = promoted_dtype(*values)
    return [b.scalar(value, dtype) for value in values]


def rounded(b: Builder, value: Any, dtype: torch.dtype) -> Operand:
    """As ``Builder.scalar``, but a number is one of the dtype.

    So is what ATen compares and stores. In products and quotients it keeps numbers.
    """
    if isinstance(value, Operand) or dtype not in _HALVES:
        return b.scalar(value, dtype)
    if isinstance(value, Scalar):
        return b.cast(b.cast(value.operand, torch.float32), dtype)
    if isinstance(value, Dim):
        return b.cast(b.constant(value, torch.float64), dtype)
    return b.constant(round_to(float(value), ELEMENT_NAMES[dtype]), dtype)


def _addends(b: Builder, *values: Any) -> list[Operand]:
    """As ``promoted``, with numbers as ATen adds them: on a CPU they are rounded."""
    dtype = promoted_dtype(*values)
    return [_addend(b, value, dtype) for value in values]


def _addend(b: Builder, value: Any, dtype: torch.dtype) -> Operand:
    is_rounded = b.device.type == "cpu"
    return rounded(b, value, dtype) if is_rounded else b.scalar(value, dtype)


def _sum(b: Builder, name: str, lhs: Operand, rhs: Operand, factor: Any) -> Operand:
    """A sum or difference, whose second term is a multiple."""
    if isinstance(factor, (bool, int, float, complex)) and factor == 1:
        return b.binary(name, lhs, rhs)
    dtype, factor = lhs.dtype, _addend(b, factor, rhs.dtype)
    lhs, rhs, factor = _wide(b, lhs, rhs, factor)
    return b.cast(b.binary(name, lhs, b.mul(rhs, factor)), dtype)


def _wide(b: Builder, *values: Operand) -> list[Operand]:
    """The operands of an op that eager rounds once, in the dtype it computes in."""
    return [b.cast(x, torch.float32) if x.dtype in _HALVES else x for x in values]


def _by_factor(b: Builder, name: str, self: Any, other: Any) -> Operand | None:
    """A product or quotient of 16 bits by a tensor without dims, which has more.

    On a CPU ATen does not round such a factor, and computes in float32. None where
    there is nothing of the kind.
    """
    if not isinstance(self, Operand) or not isinstance(other, Operand):
        return None
    of_halves = self.dtype in _HALVES and self.rank and b.device.type == "cpu"
    if not of_halves or other.rank or other.dtype in (self.dtype, torch.bool):
        return None
    if other.dtype.is_complex:
        return None
    x, y = (b.cast(value, torch.float32) for value in (self, other))
    return b.cast(b.binary(name, x, y), self.dtype)


def promoted_to_float(b: Builder, *values: Any) -> list[Operand]:
    """As ``promoted``; integers become the default float dtype."""
    dtype = promoted_dtype(*values)
    if is_integral(dtype):
        dtype = torch.get_default_dtype()
    return [b.scalar(value, dtype) for value in values]


def to_bool(b: Builder, value: Any) -> Operand:
    """Whether each element is different from zero."""
    if not isinstance(value, Operand):
        return b.constant(bool(value), torch.bool)
    return b.cast(value, torch.bool)


def scaled(b: Builder, x: Operand, factor: Any) -> Operand:
    """x times a number, or a tensor without dims."""
    if isinstance(factor, (bool, int, float, complex)) and factor == 1:
        return x
    return b.mul(x, b.scalar(factor, x.dtype))


def logical(b: Builder, name: str, lhs: Operand, rhs: Operand) -> Operand:
    """An op on bools."""
    return b.binary(name, lhs, rhs)


# Arithmetic ---------------------------------------------------------------------


@imports("add.Tensor", "add.Scalar")
def add(b: Builder, self, other, alpha=1):
    """self + alpha * other; or of bools."""
    lhs, rhs = _addends(b, self, other)
    if lhs.dtype == torch.bool:
        if not alpha:
            rhs = b.constant(False, torch.bool)
        return logical(b, "logical_or", lhs, rhs)
    return _sum(b, "add", lhs, rhs, alpha)


@imports("sub.Tensor", "sub.Scalar")
def sub(b: Builder, self, other, alpha=1):
    """self - alpha * other."""
    return _sum(b, "sub", *_addends(b, self, other), alpha)


@imports("rsub.Tensor", "rsub.Scalar")
def rsub(b: Builder, self, other, alpha=1):
    """other - alpha * self."""
    return sub(b, other, self, alpha)


@imports("mul.Tensor", "mul.Scalar")
def mul(b: Builder, self, other):
    """self * other; and of bools."""
    product = _by_factor(b, "mul", self, other)
    if product is not None:
        return product
    lhs, rhs = promoted(b, self, other)
    if lhs.dtype == torch.bool:
        return logical(b, "logical_and", lhs, rhs)
    return b.mul(lhs, rhs)


@imports("div.Tensor", "div.Scalar")
def div(b: Builder, self, other):
    """The true quotient, of float dtype."""
    quotient = _by_factor(b, "div", self, other)
    if quotient is not None:
        return quotient
    return b.div(*promoted_to_float(b, self, other))


@imports("div.Tensor_mode", "div.Scalar_mode")
def div_mode(b: Builder, self, other, rounding_mode=None):
    """The quotient rounded towards zero or down."""
    if rounding_mode is None:
        return div(b, self, other)
    return _whole_quotient(b, f"{rounding_mode}_divide", self, other)


@imports("floor_divide", "floor_divide.Scalar")
def floor_divide(b: Builder, self, other):
    """The quotient rounded down."""
    return _whole_quotient(b, "floor_divide", self, other)


def _whole_quotient(b: Builder, name: str, self: Any, other: Any) -> Operand:
    quotient = _by_factor(b, name, self, other)
    if quotient is not None:
        return quotient
    return b.binary(name, *promoted(b, self, other))


@imports("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(b: Builder, self, other):
    """The remainder with the sign of the divisor."""
    dtype = promoted_dtype(self, other)
    if dtype == torch.bool:
        return NotImplemented
    # Eager rounds a number; without that, the result would jump somewhere else.
    lhs, rhs = rounded(b, self, dtype), rounded(b, other, dtype)
    return b.binary("remainder", lhs, rhs)


@imports("fmod.Tensor", "fmod.Scalar")
def fmod(b: Builder, self, other):
    """The remainder with the sign of the dividend."""
    dtype = promoted_dtype(self, other)
    if dtype == torch.bool:
        return NotImplemented
    # Eager rounds a number; without that, the result would jump somewhere else.
    lhs, rhs = rounded(b, self, dtype), rounded(b, other, dtype)
    return b.binary("fmod", lhs, rhs)


@imports("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(b: Builder, self, exponent):
    """self to the power of exponent; of integers by multiplication, where it is small.

    ``canonicalize-graph`` does the same for floats, after derivatives have been taken:
    that of a power is one product, that of products is several.
    """
    dtype = promoted_dtype(self, exponent)
    is_number = isinstance(exponent, (bool, int, float)) and isinstance(self, Operand)
    if is_number and exponent == 1:
        return b.cast(self, dtype) if dtype != torch.bool else NotImplemented
    if is_number and is_integral(dtype) and exponent in (2, 3):
        x = b.cast(self, dtype)
        square = b.mul(x, x)
        return square if exponent == 2 else b.mul(square, x)
    if isinstance(exponent, int) and exponent < 0 and is_integral(dtype):
        return NotImplemented
    lhs, rhs = _addends(b, self, exponent)
    if lhs.dtype == torch.bool:
        return NotImplemented
    return b.binary("pow", lhs, rhs)


@imports("addcmul")
def addcmul(b: Builder, self, tensor1, tensor2, value=1):
    """self + value * tensor1 * tensor2."""
    x, y, z = promoted(b, self, tensor1, tensor2)
    if x.dtype == torch.bool:
        return NotImplemented
    dtype, (x, y, z) = x.dtype, _wide(b, x, y, z)
    return b.cast(b.add(x, b.mul(scaled(b, y, value), z)), dtype)


@imports("addcdiv")
def addcdiv(b: Builder, self, tensor1, tensor2, value=1):
    """self + value * tensor1 / tensor2."""
    x, y, z = promoted(b, self, tensor1, tensor2)
    dtype, (x, y, z) = x.dtype, _wide(b, x, y, z)
    return b.cast(b.add(x, b.div(scaled(b, y, value), z)), dtype)


@imports("lerp.Scalar", "lerp.Tensor")
def lerp(b: Builder, self, end, weight):
    """Between self and end, computed from the nearer one as ATen does."""
    # Floats of 16 bits need not hold a number, which eager computes with as it is.
    dtype = torch.float32 if self.dtype in _HALVES else self.dtype
    if isinstance(weight, Operand):
        weight = b.cast(weight, self.dtype)
    x, y, w = (b.scalar(value, dtype) for value in (self, end, weight))
    difference = b.sub(y, x)
    near = b.add(x, b.mul(w, difference))
    rest = b.sub(b.constant(1, w.dtype), w)
    far = b.sub(y, b.mul(difference, rest))
    small = b.compare("lt", b.unary("abs", w), b.constant(0.5, w.dtype))
    return b.cast(b.where(small, near, far), self.dtype)


@imports("square")
def square(b: Builder, self):
    """self * self."""
    return b.mul(self, self)


# Extrema ------------------------------------------------------------------------


@imports("maximum")
def maximum(b: Builder, self, other):
    """The larger; NaN if either is."""
    return _extremum(b, "maximum", "logical_or", self, other)


@imports("minimum")
def minimum(b: Builder, self, other):
    """The smaller; NaN if either is."""
    return _extremum(b, "minimum", "logical_and", self, other)


def _extremum(b: Builder, name: str, of_bools: str, *values):
    lhs, rhs = promoted(b, *values)
    if lhs.dtype == torch.bool:
        return logical(b, of_bools, lhs, rhs)
    return b.binary(name, lhs, rhs)


@imports("fmax")
def fmax(b: Builder, self, other):
    """The larger; the number if one is NaN."""
    return _number_of_two(b, "ge", "maximum", "logical_or", self, other)


@imports("fmin")
def fmin(b: Builder, self, other):
    """The smaller; the number if one is NaN."""
    return _number_of_two(b, "le", "minimum", "logical_and", self, other)


def _number_of_two(b: Builder, wins: str, name: str, of_bools: str, *values):
    lhs, rhs = promoted(b, *values)
    if not lhs.dtype.is_floating_point:
        return _extremum(b, name, of_bools, lhs, rhs)
    first = b.compare(wins, lhs, rhs)
    first = b.binary("logical_or", first, b.predicate("isnan", rhs))
    return b.where(first, lhs, rhs)


@imports("clamp", "clamp.Tensor")
def clamp(b: Builder, self, min=None, max=None):
    """min(max(self, min), max)."""
    dtype = promoted_dtype(self, min, max)
    if dtype == torch.bool:
        return NotImplemented
    bounds = [None if v is None else rounded(b, v, dtype) for v in (min, max)]
    operands = [b.cast(self, dtype), *bounds]
    return b.op("clamp", operands, {}, (b.out[0].shape, dtype))


@imports("clamp_min", "clamp_min.Tensor")
def clamp_min(b: Builder, self, min):
    """The larger of self and min."""
    return clamp(b, self, min, None)


@imports("clamp_max", "clamp_max.Tensor")
def clamp_max(b: Builder, self, max):
    """The smaller of self and max."""
    return clamp(b, self, None, max)


# Functions of more terms stay with ATen: kernels have no loop over them.
_MOST_TERMS = 8

# Functions ----------------------------------------------------------------------


@imports("mvlgamma")
def mvlgamma(b: Builder, self, p):
    """The sum of ln gamma(self - j / 2) for j below p, and a constant."""
    if not 1 <= p <= _MOST_TERMS:
        return NotImplemented
    (x,) = promoted_to_float(b, self)
    result = b.constant(p * (p - 1) / 4 * math.log(math.pi), x.dtype)
    for j in range(p):
        shifted = b.sub(x, b.constant(j / 2, x.dtype)) if j else x
        result = b.add(result, b.unary("lgamma", shifted))
    return result


@imports("abs")
def absolute(b: Builder, self):
    """The absolute value."""
    if self.dtype == torch.bool or not self.dtype.is_signed:
        return self
    return b.unary("abs", self)


@imports("sign", "sgn")
def sign(b: Builder, self):
    """-1, 0 or 1."""
    if self.dtype == torch.bool:
        return self
    if not self.dtype.is_signed:
        zero = b.constant(0, self.dtype)
        return b.cast(b.compare("ne", self, zero), self.dtype)
    return b.unary("sign", self)


@imports("positive")
def positive(b: Builder, self):
    """self."""
    return self


@imports("frac")
def frac(b: Builder, self):
    """The fraction."""
    return b.sub(self, b.unary("trunc", self))


@imports("special_expit")
def expit(b: Builder, self):
    """The sigmoid."""
    return b.unary("sigmoid", *promoted_to_float(b, self))
