"""Import rules of comparison, logic and bits, of selection and of casts."""

from __future__ import annotations

import torch

from girih.frontend.importer.builder import Builder
from girih.frontend.importer.elements import is_integral
from girih.frontend.importer.elementwise import (
    logical,
    promoted,
    promoted_dtype,
    rounded,
    to_bool,
)
from girih.frontend.importer.registry import imports

# Comparison and logic -----------------------------------------------------------


@imports("isnan")
def isnan(b: Builder, self):
    """Whether self is NaN."""
    return b.predicate("isnan", self)


@imports("isinf")
def isinf(b: Builder, self):
    """Whether self is infinite."""
    if is_integral(self.dtype):
        return b.full(self.shape, False, torch.bool)
    return b.predicate("isinf", self)


def _bitwise(name: str):
    def rule(b: Builder, self, other):
        lhs, rhs = promoted(b, self, other)
        if lhs.dtype == torch.bool:
            return logical(b, name.replace("bitwise", "logical"), lhs, rhs)
        return b.binary(name, lhs, rhs)

    return rule


for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    imports(f"{_name}.Tensor", f"{_name}.Scalar", f"{_name}.Scalar_Tensor")(
        _bitwise(_name)
    )


@imports("bitwise_not")
def bitwise_not(b: Builder, self):
    """All bits flipped."""
    name = "logical_not" if self.dtype == torch.bool else "bitwise_not"
    return b.unary(name, self)


def _shift(name: str):
    def rule(b: Builder, self, other):
        lhs, rhs = promoted(b, self, other)
        if not is_integral(lhs.dtype) or lhs.dtype == torch.bool:
            return NotImplemented
        return b.binary(name, lhs, rhs)

    return rule


for _side in ("left", "right"):
    imports(
        f"bitwise_{_side}_shift.Tensor",
        f"bitwise_{_side}_shift.Tensor_Scalar",
        f"bitwise_{_side}_shift.Scalar_Tensor",
        f"__{_side[0]}shift__.Scalar",
        f"__{_side[0]}shift__.Tensor",
    )(_shift(f"shift_{_side}"))


# Selection ----------------------------------------------------------------------


@imports("where.self")
def where(b: Builder, condition, self, other):
    """self where the condition holds, else other."""
    dtype = promoted_dtype(self, other)
    x, y = (rounded(b, value, dtype) for value in (self, other))
    return b.where(to_bool(b, condition), x, y)


@imports("where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where_scalar(b: Builder, condition, self, other):
    """As ``where``, with numbers."""
    return where(b, condition, self, other)


@imports("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(b: Builder, self, mask, value):
    """value where the mask holds, else self."""
    return b.where(to_bool(b, mask), rounded(b, value, self.dtype), self)


@imports("nan_to_num")
def nan_to_num(b: Builder, self, nan=None, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers."""
    if is_integral(self.dtype):
        return self
    info = torch.finfo(self.dtype)
    largest = rounded(b, info.max if posinf is None else posinf, self.dtype)
    lowest = rounded(b, info.min if neginf is None else neginf, self.dtype)
    infinite = b.predicate("isinf", self)
    positive = b.compare("gt", self, b.constant(0, self.dtype))
    finite = b.where(infinite, b.where(positive, largest, lowest), self)
    number = rounded(b, nan or 0.0, self.dtype)
    return b.where(b.predicate("isnan", self), number, finite)


# Casts and copies ---------------------------------------------------------------


@imports("_to_copy")
def to_copy(b: Builder, self, dtype=None, device=None, **options):
    """A cast; to another device it is left to ATen."""
    if device is not None and device.type != b.device.type:
        return NotImplemented
    return b.cast(self, self.dtype if dtype is None else dtype)


@imports("clone", "view_copy", "_reshape_copy")
def clone(b: Builder, self, *size, memory_format=None):
    """The same value; its layout is chosen later."""
    return b.reshape(self, b.out[0].shape)


@imports("copy")
def copy(b: Builder, self, src, non_blocking=False):
    """src with self's dtype and shape."""
    return b.broadcast_to(b.cast(src, self.dtype), self.shape)
