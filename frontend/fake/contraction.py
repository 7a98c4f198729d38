"""Shape rules of matrix products and attention."""

from __future__ import annotations

import torch

from girih.frontend.fake.layout import (
    broadcast,
    contiguous_strides,
    preserved_strides,
)
from girih.frontend.fake.rules import Result, shape_rule


def _check_dtypes(lhs: torch.Tensor, rhs: torch.Tensor) -> None:
    """Raises as ATen's kernels do, whose meta kernels take any dtypes.

    Else the error would come when the graph runs, after what it has written.
    """
    if lhs.dtype != rhs.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {lhs.dtype} != "
            f"{rhs.dtype}"
        )


def _product(rank: int, lhs: torch.Tensor, rhs: torch.Tensor):
    if lhs.dim() != rank or rhs.dim() != rank:
        return NotImplemented
    _check_dtypes(lhs, rhs)
    left, right = lhs.size(), rhs.size()
    if left[-1] != right[-2] or tuple(left[:-2]) != tuple(right[:-2]):
        return NotImplemented
    return Result((*left[:-1], right[-1]), lhs.dtype)


@shape_rule("mm")
def _mm(self, mat2):
    return _product(2, self, mat2)


@shape_rule("bmm")
def _bmm(self, mat2):
    return _product(3, self, mat2)


@shape_rule("mv")
def _mv(self, vec):
    if self.dim() != 2 or vec.dim() != 1:
        return NotImplemented
    _check_dtypes(self, vec)
    if self.size()[1] != vec.size()[0]:
        return NotImplemented
    return Result((self.size()[0],), self.dtype)


@shape_rule("dot")
def _dot(self, tensor):
    if self.dim() != 1 or tensor.dim() != 1 or self.dtype != tensor.dtype:
        return NotImplemented
    if self.size()[0] != tensor.size()[0]:
        return NotImplemented
    return Result((), self.dtype)


def _biased(bias: torch.Tensor, product):
    if product is NotImplemented or bias.dtype != product.dtype:
        return NotImplemented
    if broadcast([bias.size(), product.size]) != product.size:
        return NotImplemented
    return product


@shape_rule("addmm")
def _addmm(self, mat1, mat2, beta=1, alpha=1):
    return _biased(self, _product(2, mat1, mat2))


@shape_rule("baddbmm")
def _baddbmm(self, batch1, batch2, beta=1, alpha=1):
    return _biased(self, _product(3, batch1, batch2))


@shape_rule("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    query, key, value, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None
):
    """The output has the query's layout; logsumexp is a transposed view."""
    batch, heads, length, depth = query.size()
    if value.size()[-1] != depth:
        return NotImplemented
    high = torch.float64 if query.dtype == torch.float64 else torch.float32
    lse = contiguous_strides((batch, length, heads))
    return (
        Result(tuple(query.size()), query.dtype, preserved_strides(query)),
        Result((batch, heads, length), high, (lse[0], lse[2], lse[1])),
    )


# Attention on devices: each of its kernels keeps other things for its derivative. Seeds
# of dropout are on the device for all that anybody sees here.


def _seed(size: tuple = ()) -> Result:
    return Result(size, torch.int64)


@shape_rule("_scaled_dot_product_flash_attention")
def _flash_attention(
    query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, **_
):
    """Output, logsumexp, two empty places, two sizes, state, nothing, no mask."""
    batch, heads, length, depth = query.size()
    if value.size()[-1] != depth or return_debug_mask:
        return NotImplemented
    state = Result((2,), torch.uint64)
    return (
        Result(tuple(query.size()), query.dtype, preserved_strides(query)),
        Result((batch, heads, length), torch.float32),
        None,
        None,
        length,
        key.size()[2],
        state,
        Result((), torch.uint64),
        Result((0,), query.dtype),
    )


@shape_rule("_scaled_dot_product_efficient_attention")
def _efficient_attention(query, key, value, attn_bias, compute_log_sumexp, *_, **__):
    """Output with heads inside of positions, logsumexp in rows of 32, two seeds."""
    batch, heads, length, _depth = query.size()
    width = value.size()[-1]
    padded = -(-length // 32) * 32 if compute_log_sumexp else 0
    return (
        Result(
            (batch, heads, length, width),
            query.dtype,
            (length * heads * width, width, heads * width, 1),
        ),
        Result((batch, heads, padded), torch.float32),
        _seed(),
        _seed(),
    )


@shape_rule("_scaled_dot_product_cudnn_attention")
def _cudnn_attention(query, key, value, attn_bias, compute_log_sumexp, *_, **__):
    """Output, logsumexp, two empty places, two sizes, two seeds, no mask."""
    batch, heads, length, depth = query.size()
    if value.size()[-1] != depth:
        return NotImplemented
    return (
        Result(tuple(query.size()), query.dtype, preserved_strides(query)),
        Result((batch, heads, length, 1), torch.float32),
        None,
        None,
        length,
        key.size()[2],
        _seed(),
        _seed(),
        None,
    )
