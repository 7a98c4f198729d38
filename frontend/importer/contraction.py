"""Import rules of matrix products, convolution and attention."""

from __future__ import annotations

import math

import torch

from girih.dialects.dims import Dim
from girih.frontend.importer.builder import Builder, Scalar
from girih.frontend.importer.devices import CPU
from girih.frontend.importer.elementwise import scaled
from girih.frontend.importer.extern import build_extern
from girih.frontend.importer.registry import imports


@imports("mm")
def mm(b: Builder, self, mat2):
    """The product of two matrices."""
    return b.product("mm", [self, mat2])


@imports("bmm")
def bmm(b: Builder, self, mat2):
    """The products of two batches of matrices."""
    return b.product("bmm", [self, mat2])


@imports("addmm")
def addmm(b: Builder, self, mat1, mat2, beta=1, alpha=1):
    """beta * self + alpha * mat1 @ mat2."""
    return b.product("addmm", [self, mat1, mat2], {"beta": beta, "alpha": alpha})


@imports("baddbmm")
def baddbmm(b: Builder, self, batch1, batch2, beta=1, alpha=1):
    """beta * self + alpha * batch1 @ batch2."""
    return b.product("baddbmm", [self, batch1, batch2], {"beta": beta, "alpha": alpha})


@imports("mv")
def mv(b: Builder, self, vec):
    """A matrix times a vector."""
    column = b.reshape(vec, (*vec.shape, 1))
    rows = self.shape[0]
    y = b.op("mm", [self, column], {}, ((rows, 1), self.dtype))
    return b.reshape(y, (rows,))


@imports("addmv")
def addmv(b: Builder, self, mat, vec, beta=1, alpha=1):
    """beta * self + alpha * mat @ vec; a beta of 0 drops even NaN."""
    product = scaled(b, mv(b, mat, vec), alpha)
    if not isinstance(beta, (Dim, Scalar)) and beta == 0:
        return product
    return b.add(scaled(b, self, beta), product)


@imports("dot")
def dot(b: Builder, self, tensor):
    """The inner product of two vectors."""
    return b.reshape(b.reduce("reduce_sum", b.mul(self, tensor), [0]), ())


@imports("convolution")
def convolution(
    b: Builder,
    input,
    weight,
    bias,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
):
    """A convolution, or a product where one window is the whole image.

    Lists of one entry count for all dims.
    """
    spatial = input.rank - 2
    lists = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "output_padding": output_padding,
    }
    attributes = {name: full_list(value, spatial) for name, value in lists.items()}
    if any(isinstance(n, Dim) for n in (*attributes["stride"], groups)):
        return NotImplemented
    attributes |= {"transposed": transposed, "groups": groups}
    if _reads_whole_image(b, input, weight, attributes):
        return _whole_image(b, input, weight, bias)
    return b.library("convolution", [input, weight, bias], attributes)


def _reads_whole_image(b: Builder, input, weight, attributes: dict) -> bool:
    """Whether each result of a convolution is a sum over one whole image.

    The gates of squeeze-and-excite blocks are such convolutions: a library needs up to
    80 us for what a product does in 5 (MobileNetV3, one image, 2026-11-27).
    """
    # cuDNN may round float32 to TF32 where products may not, which is faster.
    is_wide = input.dtype in (torch.float32, torch.float64)
    if not input.dtype.is_floating_point or (b.device != CPU and is_wide):
        return False
    if attributes["transposed"] or attributes["groups"] != 1:
        return False
    # Eager refuses these, which the call finds.
    if any(step < 1 for step in (*attributes["stride"], *attributes["dilation"])):
        return False
    windows = zip(
        input.shape[2:],
        weight.shape[2:],
        attributes["dilation"],
        attributes["padding"],
        strict=True,
    )
    return all(
        isinstance(size, int)
        and size == kernel
        and (kernel == 1 or dilation == 1)
        and padding == 0
        for size, kernel, dilation, padding in windows
    )


def _whole_image(b: Builder, input, weight, bias):
    """Rows of images times the rows of weights, as a linear layer has it."""
    (spec,) = b.out
    count, channels = spec.shape[:2]
    rows = b.reshape(input, (count, math.prod(input.shape[1:])))
    columns = b.reshape(weight, (channels, math.prod(weight.shape[1:])))
    columns = b.permute(columns, (1, 0))
    result = (count, channels), spec.dtype
    if bias is None:
        y = b.op("mm", [rows, columns], {}, result)
    else:
        scales = {"beta": 1, "alpha": 1}
        y = b.op("addmm", [bias, rows, columns], scales, result)
    return b.reshape(y, spec.shape)


def full_list(values, count: int) -> list:
    """A list with one entry for each dim."""
    values = [values] if isinstance(values, int) else list(values)
    return values * count if len(values) == 1 else values


@imports("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    b: Builder,
    query,
    key,
    value,
    dropout_p=0.0,
    is_causal=False,
    attn_mask=None,
    scale=None,
):
    """Attention; with dropout it is left to ATen."""
    depth = query.shape[-1]
    if dropout_p or (scale is None and isinstance(depth, Dim)):
        return NotImplemented
    scale = 1 / math.sqrt(depth) if scale is None else float(scale)
    attributes = {"causal": is_causal, "scale": scale}
    return b.library("attention", [query, key, value, attn_mask], attributes)


@imports("_scaled_dot_product_flash_attention")
def flash_attention(b: Builder, query, key, value, dropout_p=0.0, *rest, **options):
    """A call of ATen: it draws random numbers where there is dropout."""
    args = (query, key, value, dropout_p, *rest)
    return _attention_call(b, "flash", args, options, dropout_p)


@imports("_scaled_dot_product_efficient_attention")
def efficient_attention(
    b: Builder, query, key, value, bias, logsumexp, dropout_p=0.0, *rest, **options
):
    """A call of ATen, as above.

    It always gives the logarithms of the sums, in rows of 32: the derivative, which may
    be taken although eager takes none here, needs them.
    """
    length = query.shape[2]
    rows = (length + 31) // 32 * 32
    b.out[1] = b.out[1]._replace(shape=(*query.shape[:2], rows), strides=None)
    args = (query, key, value, bias, True, dropout_p, *rest)
    return _attention_call(b, "efficient", args, options, dropout_p)


@imports("_scaled_dot_product_cudnn_attention")
def cudnn_attention(
    b: Builder, query, key, value, bias, logsumexp, dropout_p=0.0, *rest, **options
):
    """A call of ATen, as above.

    It always gives the logarithms of the sums: its fake does.
    """
    args = (query, key, value, bias, True, dropout_p, *rest)
    return _attention_call(b, "cudnn", args, options, dropout_p)


def _attention_call(b: Builder, kernel: str, args, options, dropout_p: float):
    packet = getattr(torch.ops.aten, f"_scaled_dot_product_{kernel}_attention")
    return build_extern(b, packet.default, args, options, ordered=dropout_p > 0)


@imports("mkldnn_rnn_layer")
def rnn_layer(b: Builder, *args):
    """A recurrent layer of oneDNN.

    Its last result is memory for the derivative, which it does not make without
    gradients (its fake does).
    """
    specs = b.out
    b.out = specs[:3]
    func = torch.ops.aten.mkldnn_rnn_layer.default
    results = build_extern(b, func, args, {}, ordered=False)
    b.out = specs
    return *results, b.full(specs[3].shape, 0, specs[3].dtype)
