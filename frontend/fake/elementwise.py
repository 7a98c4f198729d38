"""Shape rules of elementwise ops: arithmetic, comparison, functions, activations."""

from __future__ import annotations

import torch

from girih.frontend.fake.layout import (
    broadcast,
    elementwise_strides,
    has_any,
    preserved_strides,
)
from girih.frontend.fake.promotion import promote, promote_to_float, real_dtype
from girih.frontend.fake.rules import Result, shape_rule


def elementwise_result(
    operands: tuple, dtype: torch.dtype, wraps_numbers: bool = True
) -> Result:
    """The result of an elementwise op on tensors and numbers.

    Args:
        operands: These.
        dtype: Of the result.
        wraps_numbers: Whether a number is a tensor without dims for ATen's kernel.
    """
    tensors = [value for value in operands if isinstance(value, torch.Tensor)]
    has_numbers = wraps_numbers and len(tensors) < len(operands)
    if len(tensors) == 1:
        size = tuple(tensors[0].size())
    else:
        size = broadcast([tensor.size() for tensor in tensors])
    if size is None:
        return NotImplemented
    return Result(size, dtype, elementwise_strides(tensors, size, has_numbers))


# Results with the promoted dtype of the operands.
@shape_rule(
    "add.Tensor",
    "add.Scalar",
    "sub.Tensor",
    "sub.Scalar",
)
def _scaled_sum(self, other, alpha=1):
    dtype = promote(self, other)
    if dtype == torch.bool or (
        isinstance(alpha, float) and not dtype.is_floating_point
    ):
        return NotImplemented
    return elementwise_result((self, other), dtype)


@shape_rule("rsub.Tensor", "rsub.Scalar")
def _reversed_difference(self, other, alpha=1):
    return _scaled_sum(other, self, alpha)


@shape_rule("pow.Scalar")
def _power_of_number(self, exponent):
    return Result(tuple(exponent.size()), promote(self, exponent))


@shape_rule(
    "mul.Tensor",
    "mul.Scalar",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "pow.Tensor_Tensor",
    "clamp_min.Tensor",
    "clamp_max.Tensor",
)
def _promoting(self, other):
    return elementwise_result((self, other), promote(self, other))


@shape_rule("pow.Tensor_Scalar", "clamp_min", "clamp_max")
def _with_a_number(self, number):
    return elementwise_result((self,), promote(self, number))


@shape_rule(
    "floor_divide",
    "floor_divide.Scalar",
    "remainder.Tensor",
    "remainder.Scalar",
    "remainder.Scalar_Tensor",
    "fmod.Tensor",
    "fmod.Scalar",
    "bitwise_and.Tensor",
    "bitwise_and.Scalar",
    "bitwise_and.Scalar_Tensor",
    "bitwise_or.Tensor",
    "bitwise_or.Scalar",
    "bitwise_or.Scalar_Tensor",
    "bitwise_xor.Tensor",
    "bitwise_xor.Scalar",
    "bitwise_xor.Scalar_Tensor",
    "bitwise_left_shift.Tensor",
    "bitwise_left_shift.Tensor_Scalar",
    "bitwise_left_shift.Scalar_Tensor",
    "bitwise_right_shift.Tensor",
    "bitwise_right_shift.Tensor_Scalar",
    "bitwise_right_shift.Scalar_Tensor",
    "__lshift__.Scalar",
    "__lshift__.Tensor",
    "__rshift__.Scalar",
    "__rshift__.Tensor",
)
def _promoting_numbers(self, other):
    dtype = promote(self, other)
    if dtype.is_complex:
        return NotImplemented
    return elementwise_result((self, other), dtype)


@shape_rule("clamp", "clamp.Tensor")
def _clamp(self, min=None, max=None):
    operands = tuple(value for value in (self, min, max) if value is not None)
    if len(operands) == 1:
        return NotImplemented
    dtype = promote(*operands)
    return elementwise_result(operands, dtype, wraps_numbers=False)


# Results of float dtype.
@shape_rule(
    "div.Tensor",
    "div.Scalar",
    "xlogy.Tensor",
    "xlogy.Scalar_Self",
    "xlogy.Scalar_Other",
    "special_xlog1py",
    "special_xlog1py.self_scalar",
    "special_xlog1py.other_scalar",
)
def _dividing(self, other):
    return elementwise_result((self, other), promote_to_float(self, other))


@shape_rule("logaddexp", "logaddexp2")
def _logarithm_of_sum(self, other):
    if not promote(self, other).is_floating_point:
        return NotImplemented
    return _dividing(self, other)


@shape_rule("div.Tensor_mode", "div.Scalar_mode")
def _dividing_with_mode(self, other, rounding_mode):
    if rounding_mode is None:
        return _dividing(self, other)
    dtype = promote(self, other)
    if dtype == torch.bool or dtype.is_complex:
        return NotImplemented
    return elementwise_result((self, other), dtype)


@shape_rule("sinc")
def _float_function(self):
    return elementwise_result((self,), promote_to_float(self))


# Results with the dtype of the operand.
@shape_rule(*"positive bitwise_not sign sgn conj_physical frac".split())
def _same_dtype(self):
    if self.dtype == torch.bool:
        return NotImplemented
    return elementwise_result((self,), self.dtype)


@shape_rule("abs")
def _absolute(self):
    if self.dtype.is_complex:  # ATen makes the result with ``empty_like``
        return _laid_out_like(self)._replace(dtype=real_dtype(self.dtype))
    return elementwise_result((self,), real_dtype(self.dtype))


@shape_rule("angle")
def _angle(self):
    if not self.dtype.is_complex:
        return elementwise_result((self,), promote_to_float(self))
    # ATen computes a complex result, and copies its real part to a contiguous one.
    return Result(tuple(self.size()), real_dtype(self.dtype))


@shape_rule("celu", "hardshrink", "softshrink", "threshold")
def _activation(self, *args, **kwargs):
    if not self.dtype.is_floating_point:
        return NotImplemented
    return elementwise_result((self,), self.dtype)


@shape_rule("hardtanh")
def _hardtanh(self, *args, **kwargs):
    if not self.dtype.is_floating_point:
        return NotImplemented
    return _laid_out_like(self)


def _laid_out_like(tensor: torch.Tensor) -> Result:
    """What kernels make with ``empty_like``: with its strides, of dims of 1 as well."""
    return Result(tuple(tensor.size()), tensor.dtype, preserved_strides(tensor))


@shape_rule("native_dropout")
def _native_dropout(self, p, train):
    # torch's own gives the input itself where there is nothing to drop.
    if has_any(self.size(), 0):
        result = _laid_out_like(self)
    else:
        result = elementwise_result((self,), self.dtype)
    return result, result._replace(dtype=torch.bool)


@shape_rule("log_sigmoid_forward")
def _log_sigmoid(self):
    if not self.dtype.is_floating_point:
        return NotImplemented
    # The CPU's kernel alone makes contiguous results.
    if self.device.type == "cpu":
        result = Result(tuple(self.size()), self.dtype)
        return result, result
    return elementwise_result((self,), self.dtype), Result((0,), self.dtype)


@shape_rule("isnan", "isinf")
def _predicate(self):
    return elementwise_result((self,), torch.bool)


# Selection and fused arithmetic.
@shape_rule("where.self")
def _where(condition, self, other):
    if condition.dtype != torch.bool:
        return NotImplemented
    return elementwise_result((condition, self, other), promote(self, other))


@shape_rule("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(self, mask, value):
    if mask.dtype != torch.bool:
        return NotImplemented
    size = broadcast([self.size(), mask.size()])
    return NotImplemented if size is None else Result(size, self.dtype)


@shape_rule("lerp.Scalar", "lerp.Tensor")
def _lerp(self, end, weight):
    return elementwise_result((self, end, weight), self.dtype, wraps_numbers=False)


@shape_rule("addcmul", "addcdiv")
def _scaled_product(self, tensor1, tensor2, value=1):
    dtype = promote(self, tensor1, tensor2)
    if not dtype.is_floating_point:
        return NotImplemented
    return elementwise_result((self, tensor1, tensor2), dtype)


@shape_rule("nan_to_num")
def _nan_to_num(self, nan=None, posinf=None, neginf=None):
    return _laid_out_like(self)


@shape_rule("_prelu_kernel")
def _prelu(self, weight):
    if self.dtype != weight.dtype:
        return NotImplemented
    return _laid_out_like(self)


@shape_rule("mse_loss", "smooth_l1_loss")
def _pointwise_loss(self, target, reduction=1, *more, **options):
    whole = elementwise_result((self, target), promote(self, target))
    if whole is NotImplemented or not whole.dtype.is_floating_point:
        return NotImplemented
    return whole if reduction == 0 else Result((), whole.dtype)


@shape_rule("binary_cross_entropy_with_logits")
def _binary_cross_entropy(self, target, weight=None, pos_weight=None, reduction=1):
    if self.dtype != target.dtype or self.size() != target.size():
        return NotImplemented
    weights = [each.size() for each in (weight, pos_weight) if each is not None]
    if broadcast([target.size(), *weights]) != target.size():
        return NotImplemented
    # Computed in the memory of 1 - target.
    return _pointwise_loss(target, target, reduction)


@shape_rule("glu")
def _glu(self, dim=-1):
    size = list(self.size())
    if not size or size[dim] % 2 or not self.is_contiguous():
        return NotImplemented
    size[dim] = size[dim] // 2
    return Result(tuple(size), self.dtype)
