"""Derivatives of convolutions against torch's, of every order."""

from __future__ import annotations

import pytest
import torch
from derivatives import check_op

# id: (x, weight, what is not by default)
CASES = {
    "1d": ((2, 3, 7), (4, 3, 3), {"padding": [1]}),
    "2d": ((2, 3, 6, 5), (4, 3, 3, 2), {}),
    "3d": ((1, 2, 4, 4, 3), (3, 2, 2, 3, 2), {"padding": [1, 0, 1]}),
    "strides": ((2, 3, 8, 7), (4, 3, 3, 3), {"stride": [2, 3], "padding": [1, 2]}),
    "dilation": ((1, 2, 9, 8), (3, 2, 3, 2), {"dilation": [2, 3]}),
    "groups": ((2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2}),
    "depthwise": ((2, 4, 5, 5), (4, 1, 3, 3), {"groups": 4, "padding": [1, 1]}),
    "pointwise": ((2, 3, 4, 4), (5, 3, 1, 1), {}),
    "no batch": ((0, 3, 4, 4), (5, 3, 2, 2), {}),
    "transposed": ((2, 3, 4, 4), (3, 4, 3, 3), {"transposed": True}),
    "transposed strides": (
        (1, 4, 4, 3),
        (4, 2, 3, 3),
        {
            "transposed": True,
            "stride": [2, 2],
            "output_padding": [1, 0],
            "padding": [1, 1],
            "groups": 2,
        },
    ),
}


def operands_of(key: str, has_bias: bool) -> tuple[list, dict]:
    shape, kernel, changes = CASES[key]
    spatial = len(shape) - 2
    attributes = {
        "stride": [1] * spatial,
        "padding": [0] * spatial,
        "dilation": [1] * spatial,
        "transposed": False,
        "output_padding": [0] * spatial,
        "groups": 1,
    } | changes
    channels = kernel[0]
    if attributes["transposed"]:
        channels = kernel[1] * attributes["groups"]
    shapes = [shape, kernel, (channels,)] if has_bias else [shape, kernel]
    tensors = [torch.randn(s, dtype=torch.float64) for s in shapes]
    return tensors + [None] * (3 - len(tensors)), attributes


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("key", CASES)
def test_convolution(key, has_bias):
    tensors, attributes = operands_of(key, has_bias)
    # Eager has no second derivative of an output that is padded.
    order = 1 if any(attributes["output_padding"]) else 3
    check_op("convolution", tensors, attributes, order=order)


@pytest.mark.parametrize("key", ["2d", "groups", "transposed"])
def test_channels_last(key):
    tensors, attributes = operands_of(key, has_bias=True)
    x, weight, bias = tensors
    x, weight = (t.contiguous(memory_format=torch.channels_last) for t in (x, weight))
    y = torch.ops.aten.convolution(x, weight, bias, *attributes.values())
    attributes["strides"] = [y.stride()]
    check_op("convolution", [x, weight, bias], attributes, order=2)
