"""Shape rules of convolution and pooling, for contiguous tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from girih.frontend.fake.layout import (
    is_contiguous,
    is_row_by_row,
    suggested_strides,
)
from girih.frontend.fake.rules import Result, shape_rule


def _full_list(values: object, count: int) -> list:
    values = [values] if isinstance(values, (int, torch.SymInt)) else list(values)
    return values * count if len(values) == 1 else values


def _result(tensor: torch.Tensor, leading: Sequence, sizes: Sequence, *dtypes):
    """Results of given sizes, unless they are an error."""
    if any(size < 1 for size in sizes) or any(size == 0 for size in tensor.size()):
        return NotImplemented
    results = [Result((*leading, *sizes), dtype) for dtype in dtypes]
    return results[0] if len(results) == 1 else tuple(results)


@shape_rule("convolution")
def _convolution(
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
    spatial = input.dim() - 2
    if spatial < 1 or weight.dim() != input.dim() or input.dtype != weight.dtype:
        return NotImplemented
    is_by_row = is_row_by_row(input) and is_row_by_row(weight)
    if not is_by_row and not _has_innermost_channels(input):
        return NotImplemented
    lists = (stride, padding, dilation, output_padding)
    if any(len(values) not in (1, spatial) for values in lists):
        return NotImplemented
    lists = [_full_list(values, spatial) for values in lists]
    size, kernel = input.size(), weight.size()
    inner = kernel[0] if transposed else kernel[1] * groups
    channels = kernel[1] * groups if transposed else kernel[0]
    if size[1] != inner or (bias is not None and tuple(bias.size()) != (channels,)):
        return NotImplemented
    sizes = [
        _convolved(size[2 + n], kernel[2 + n], *(values[n] for values in lists))
        for n in range(spatial)
    ]
    if transposed:
        sizes = [
            (size[2 + n] - 1) * lists[0][n]
            - 2 * lists[1][n]
            + lists[2][n] * (kernel[2 + n] - 1)
            + lists[3][n]
            + 1
            for n in range(spatial)
        ]
    made = _result(input, (size[0], channels), sizes, input.dtype)
    if is_by_row or made is NotImplemented:
        return made
    return made._replace(stride=suggested_strides(input, made.size))


def _has_innermost_channels(images: torch.Tensor) -> bool:
    """Whether images of the CPU lie with their channels innermost, and no other way."""
    if images.dim() != 4 or images.device.type != "cpu" or is_contiguous(images):
        return False
    return suggested_strides(images, tuple(images.size())) is not None


@shape_rule("convolution_backward")
def _convolution_backward(
    grad_output,
    input,
    weight,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
):
    """Gradients lie as images do, row by row or with the channels innermost.

    PyTorch's own rule asks which library computes them, and so whether a symbolic
    number of images is below 16.
    """
    options = (stride, padding, dilation, transposed, output_padding, groups)
    made = _convolution(input, weight, None, *options)
    if made is NotImplemented or grad_output.dtype != input.dtype:
        return NotImplemented
    if grad_output.dim() != len(made.size) or any(
        one != two for one, two in zip(grad_output.size(), made.size, strict=True)
    ):
        return NotImplemented
    strides: tuple = (None, None, None)
    if made.stride is not None:
        innermost = [suggested_strides(input, t.size()) for t in (input, weight)]
        strides = (innermost[0], _keeps_rows(input, weight) or innermost[1], None)
    sizes = (input.size(), weight.size(), (made.size[1],))
    return tuple(
        Result(tuple(size), input.dtype, stride) if wanted else None
        for size, stride, wanted in zip(sizes, strides, output_mask, strict=True)
    )


def _keeps_rows(input: torch.Tensor, weight: torch.Tensor) -> tuple | None:
    """The strides of a weight whose gradient lies as the weight does, in rows.

    With one channel or one pixel it lies both ways, and some kernels leave it so.
    """
    size = weight.size()
    is_point = all(each == 1 for each in size[2:])
    if not is_contiguous(weight) or not (is_point or size[1] == 1):
        return None
    if input.dtype == torch.float64:
        return tuple(weight.stride())
    is_alone = input.dtype == torch.float32 and is_point and input.size(0) == 1
    return tuple(weight.stride()) if is_alone else None


def _convolved(size, kernel, stride, padding, dilation, output_padding=0):
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _pooled(size, kernel, stride, padding, dilation, ceil_mode):
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count = count - 1
    return count


def _pool(input, count: int, window: tuple, ceil_mode: bool, *dtypes):
    kernel, stride, padding, dilation = window
    rank = input.dim()
    if rank not in (count + 1, count + 2) or not is_row_by_row(input):
        return NotImplemented
    kernel = _full_list(kernel, count)
    lists = [kernel, _full_list(stride, count) or kernel]
    lists += [_full_list(padding, count), _full_list(dilation, count)]
    if any(2 * p > k for p, k in zip(lists[2], kernel, strict=True)):
        return NotImplemented
    steps = (*kernel, *lists[1], *lists[3])
    if any(step < 1 for step in steps) or any(p < 0 for p in lists[2]):
        return NotImplemented
    size = input.size()
    sizes = [
        _pooled(size[rank - count + n], *(values[n] for values in lists), ceil_mode)
        for n in range(count)
    ]
    return _result(input, size[: rank - count], sizes, *dtypes)


@shape_rule("max_pool2d_with_indices")
def _max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    window = (kernel_size, stride, padding, dilation)
    return _pool(input, 2, window, ceil_mode, input.dtype, torch.int64)


@shape_rule("max_unpool2d")
def _max_unpool2d(input, indices, output_size):
    """ATen's kernel for the CPU keeps the channels innermost; its meta kernel does not.

    Source: ``max_unpooling2d_forward_out_cpu`` in MaxUnpooling.cpp (2.13)
    """
    is_image = input.dim() == 4 and len(output_size) == 2
    if not is_image or input.device.type != "cpu" or input.shape != indices.shape:
        return NotImplemented
    size = (*input.shape[:2], *output_size)
    if any(n < 1 for n in size):
        return NotImplemented
    return Result(size, input.dtype, suggested_strides(input, size))


@shape_rule("avg_pool2d")
def _avg_pool2d(
    input,
    kernel_size,
    stride=(),
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    if divisor_override is not None and divisor_override == 0:
        return NotImplemented
    window = (kernel_size, stride, padding, 1)
    return _pool(input, 2, window, ceil_mode, input.dtype)


@shape_rule("_adaptive_avg_pool2d")
def _adaptive_avg_pool2d(input, output_size):
    if input.dim() not in (3, 4) or not is_row_by_row(input):
        return NotImplemented
    return _result(input, input.size()[:-2], tuple(output_size), input.dtype)
