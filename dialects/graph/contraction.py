"""Contractions: library ops, run by the best kernel that ATen has.

Where eager's result is not contiguous, ``strides`` says how it is laid out.
Source: https://docs.pytorch.org/docs/stable/torch.html#blas-and-lapack-operations
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import BOOL, FLOAT, INT, INTS, LAYOUTS, SCALAR, SIZES
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size, floordiv
from girih.dialects.fields import (
    attribute,
    operand,
    optional_attribute,
    optional_operand,
    result,
)
from girih.dialects.graph.base import (
    LibraryOp,
    broadcast_shapes,
    element_of,
    expect_rank,
    expect_same_element,
    expect_tensor,
)
from girih.dialects.rules import expect
from girih.dialects.traits import CONTRACTION, PRODUCT


def expect_size(shape: tuple[Size, ...], dim: int, expected: Size, name: str) -> None:
    """Checks a size where it is a number; symbolic sizes are checked by ATen."""
    actual = shape[dim]
    known = not isinstance(actual, Dim) and not isinstance(expected, Dim)
    agree = not known or actual == expected
    expect(agree, name, f"have size {expected} in dim {dim}", actual)


def _matmul_type(lhs: ir.Type, rhs: ir.Type, rank: int) -> ir.Type:
    left, right = expect_rank(lhs, "lhs", rank), expect_rank(rhs, "rhs", rank)
    expect_same_element(rhs, "rhs", element_of(lhs, "lhs"))
    expect_size(right, rank - 2, left[-1], "rhs")
    if rank == 3:
        expect_size(right, 0, left[0], "rhs")
    return ty.tensor_type((*left[:-1], right[-1]), lhs.element_type)


class MmOp(LibraryOp, name="mm", traits={CONTRACTION, PRODUCT}):
    """y[m, n] = sum over k of lhs[m, k] * rhs[k, n]."""

    ZERO_IF = (("lhs",), ("rhs",))

    lhs = operand()
    rhs = operand()
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """[m, n]."""
        return [_matmul_type(*types, rank=2)]


class BmmOp(LibraryOp, name="bmm", traits={CONTRACTION, PRODUCT}):
    """y[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]."""

    ZERO_IF = (("lhs",), ("rhs",))

    lhs = operand()
    rhs = operand()
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """[b, m, n]."""
        return [_matmul_type(*types, rank=3)]


class _AddMatmulOp(LibraryOp, traits={CONTRACTION, PRODUCT}):
    """y = beta * bias + alpha * lhs @ rhs; bias broadcasts."""

    ZERO_IF = (("bias", "lhs"), ("bias", "rhs"))
    RANK = 2

    bias = operand()
    lhs = operand()
    rhs = operand()
    beta = attribute(SCALAR, default=1)
    alpha = attribute(SCALAR, default=1)
    strides = optional_attribute(LAYOUTS)
    y = result()

    @classmethod
    def infer_types(cls, types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The type of the product."""
        bias, lhs, rhs = types
        y = _matmul_type(lhs, rhs, cls.RANK)
        expect_same_element(bias, "bias", y.element_type)
        broadcast_shapes(ty.shape_of(y), ty.shape_of(bias), "bias")
        return [y]


class AddmmOp(_AddMatmulOp, name="addmm"):
    """y = beta * bias + alpha * lhs @ rhs, for matrices."""


class BaddbmmOp(_AddMatmulOp, name="baddbmm"):
    """y = beta * bias + alpha * lhs @ rhs, for batches of matrices."""

    RANK = 3


class LinearOp(LibraryOp, name="linear"):
    """y[..., n] = sum over k of x[..., k] * weight[n, k], plus bias[n]."""

    ZERO_IF = (("x", "bias"), ("weight", "bias"))

    x = operand()
    weight = operand()
    bias = optional_operand()
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's shape with n for the last size."""
        x, weight, bias = types
        shape, matrix = expect_tensor(x, "x"), expect_rank(weight, "weight", 2)
        n = matrix[0]
        expect(len(shape) >= 1, "x", "have rank 1 or more", x)
        expect_same_element(weight, "weight", x.element_type)
        expect_size(matrix, 1, shape[-1], "weight")
        if bias is not None:
            expect_size(expect_rank(bias, "bias", 1), 0, n, "bias")
            expect_same_element(bias, "bias", x.element_type)
        return [ty.tensor_type((*shape[:-1], n), x.element_type)]


class ConvolutionOp(LibraryOp, name="convolution", traits={CONTRACTION}):
    """y = the cross-correlation of x with weight, plus bias, as aten.convolution.

    x: [n, c_in, ...]; weight: [c_out, c_in / groups, ...] (transposed:
    [c_in, c_out / groups, ...]); bias: [c_out]; y: [n, c_out, ...].
    """

    ZERO_IF = (("x", "bias"), ("weight", "bias"))

    x = operand()
    weight = operand()
    bias = optional_operand()
    stride = attribute(INTS)
    padding = attribute(SIZES)
    dilation = attribute(INTS)
    transposed = attribute(BOOL, default=False)
    output_padding = attribute(SIZES)
    groups = attribute(INT, default=1)
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """[n, c_out, ...] with the spatial sizes by torch's formula."""
        x, weight, bias = types
        shape = expect_tensor(x, "x")
        kernel = expect_rank(weight, "weight", len(shape))
        expect(len(shape) >= 3, "x", "have rank 3 or more", x)
        expect_same_element(weight, "weight", x.element_type)
        spatial = len(shape) - 2
        for name in ("stride", "padding", "dilation", "output_padding"):
            count = len(attributes[name])
            expect(count == spatial, name, f"have {spatial} entries", count)
        if attributes["transposed"]:
            channels = kernel[1] * attributes["groups"]
        else:
            channels = kernel[0]
        if bias is not None:
            expect_size(expect_rank(bias, "bias", 1), 0, channels, "bias")
        sizes = [
            _convolved(shape[d + 2], kernel[d + 2], d, attributes)
            for d in range(spatial)
        ]
        return [ty.tensor_type((shape[0], channels, *sizes), x.element_type)]


def _convolved(size: Size, kernel: Size, d: int, attributes: Mapping) -> Size:
    stride, padding = attributes["stride"][d], attributes["padding"][d]
    reach = attributes["dilation"][d] * (kernel - 1)
    if attributes["transposed"]:
        full = (size - 1) * stride - 2 * padding + reach
        return full + attributes["output_padding"][d] + 1
    return floordiv(size + 2 * padding - reach - 1, stride) + 1


class AttentionOp(LibraryOp, name="attention"):
    """y = softmax(scale * query @ key^T + mask) @ value, and the rows' logsumexp.

    query: [b, h, s, d]; key: [b, h_kv, t, d]; value: [b, h_kv, t, e]; y: [b, h, s, e];
    logsumexp: [b, h, s]. ``causal`` masks columns beyond the row.
    """

    query = operand()
    key = operand()
    value = operand()
    mask = optional_operand()
    dropout = attribute(FLOAT, default=0.0)
    causal = attribute(BOOL, default=False)
    scale = attribute(FLOAT)
    strides = optional_attribute(LAYOUTS)
    y = result()
    logsumexp = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """[b, h, s, e] and [b, h, s]; logsumexp at least f32."""
        query, key, value, _ = types
        b, h, s, _ = expect_rank(query, "query", 4)
        expect_rank(key, "key", 4)
        e = expect_rank(value, "value", 4)[3]
        element = query.element_type
        expect_same_element(key, "key", element)
        expect_same_element(value, "value", element)
        precise = element if ty.byte_width(element) > 4 else ir.F32Type.get()
        return [
            ty.tensor_type((b, h, s, e), element),
            ty.tensor_type((b, h, s), precise),
        ]
