"""Dtypes of results, by torch's rules of type promotion.

``torch.result_type`` does the same but dispatches, and so cannot be asked about
fake tensors inside a dispatch handler.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

_COMPLEX_OF = {
    torch.float16: torch.complex32,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
_REAL_OF = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}


def scalar_dtype(value: object) -> torch.dtype:
    """The dtype that a Python number has in type promotion."""
    if isinstance(value, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(value, (int, torch.SymInt)):
        return torch.int64
    default = torch.get_default_dtype()
    return _COMPLEX_OF[default] if isinstance(value, complex) else default


def _combine(higher: torch.dtype | None, lower: torch.dtype | None):
    """Joins the dtypes of two categories, the higher of which has precedence."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return _COMPLEX_OF[higher] if lower.is_complex else higher
    if higher == torch.bool or lower.is_floating_point or lower.is_complex:
        return torch.promote_types(higher, lower)
    return higher


def combine_dtypes(typed: Iterable[tuple[torch.dtype, int]]) -> torch.dtype:
    """The dtype of a computation.

    Args:
        typed: A dtype and a category for each value: 1 for a tensor with dims, 0 for
            a tensor without, 2 for a Python number.
    """
    categories = [None, None, None]
    for dtype, category in typed:
        known = categories[category]
        categories[category] = (
            dtype if known is None else torch.promote_types(known, dtype)
        )
    zero_dim, dimensioned, number = categories
    result = _combine(dimensioned, _combine(zero_dim, number))
    assert result is not None, "girih bug: promotion of nothing"
    return result


def promote(*values: object) -> torch.dtype:
    """The dtype of a computation with these tensors and numbers.

    Args:
        *values: Tensors and Python numbers; None is skipped.
    """
    return combine_dtypes(
        (value.dtype, 1 if value.dim() else 0)
        if isinstance(value, torch.Tensor)
        else (scalar_dtype(value), 2)
        for value in values
        if value is not None
    )


def promote_to_float(*values: object) -> torch.dtype:
    """As ``promote``; integers and bool become the default float dtype."""
    dtype = promote(*values)
    if dtype.is_floating_point or dtype.is_complex:
        return dtype
    return torch.get_default_dtype()


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of a complex number's parts; others as they are."""
    return _REAL_OF.get(dtype, dtype)


def sum_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of a sum or product: that of integers and bool is int64."""
    if dtype.is_floating_point or dtype.is_complex:
        return dtype
    return torch.int64
