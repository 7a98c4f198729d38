"""Torch dtypes and the element types of ``graph`` that stand for them."""

from __future__ import annotations

import torch

ELEMENT_NAMES = {
    torch.bool: "i1",
    torch.uint8: "ui8",
    torch.uint16: "ui16",
    torch.uint32: "ui32",
    torch.uint64: "ui64",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex32: "complex<f16>",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e4m3fnuz: "f8E4M3FNUZ",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e5m2fnuz: "f8E5M2FNUZ",
}

DTYPES = {name: dtype for dtype, name in ELEMENT_NAMES.items()}


FLOAT8_DTYPES = frozenset(dtype for dtype in ELEMENT_NAMES if "float8" in str(dtype))


def is_integral(dtype: torch.dtype) -> bool:
    """Whether the elements are integers or bools."""
    return not dtype.is_floating_point and not dtype.is_complex


def dtype_name(dtype: torch.dtype) -> str:
    """The name of a dtype without its module: ``float32``."""
    return str(dtype).removeprefix("torch.")
