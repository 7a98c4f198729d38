"""Kernels in one row in the order of their results, against the same for the CPU."""

import pytest
import torch
from gpu_kernels import check
from tile_kernels import build_kernel

from girih.dialects.bindings import ir
from girih.dialects.types import tensor_type


def tensor(shape):
    return tensor_type(shape, ir.F32Type.get())


def permuted(shape, order, element="f32", dtype=torch.float32):
    """Checks a copy of a permuted tensor plus a vector; returns the schedule."""
    base = torch.randn([shape[d] for d in order]).to(dtype)
    x = base.permute([order.index(d) for d in range(len(order))])
    vector = torch.randn(shape[-1]).to(dtype)

    def make():
        return build_kernel(
            [(shape, element, x.stride()), (shape[-1:], element)],
            shape,
            lambda build, a, b: [build("add", a, b)],
        )

    return check(make, [x, vector], [torch.empty(shape, dtype=dtype)])


@pytest.mark.parametrize(
    "shape, order",
    [
        ((6, 2, 9, 2, 9), (0, 2, 1, 4, 3)),  # a pixel shuffle
        ((5, 3, 7, 2, 2, 6), (0, 1, 4, 2, 5, 3)),
        ((50, 3), (1, 0)),  # channels last, and back
        ((3, 500), (1, 0)),
        ((1, 3, 1, 300), (0, 3, 1, 2)),  # sizes of 1
        ((2, 1009, 3), (0, 2, 1)),
        ((7, 5, 3, 2), (3, 2, 1, 0)),
    ],
)
def test_short_sides(shape, order):
    assert permuted(shape, order).startswith("linear")


def test_elements_of_sixteen_bits():
    permuted((6, 2, 9, 2, 9), (0, 2, 1, 4, 3), "f16", torch.float16)
    assert permuted((6, 8, 9), (0, 2, 1), "f16", torch.float16).startswith("linear")


def test_long_sides_are_turned():
    assert permuted((64, 70), (1, 0)).startswith("transposed")


def test_padding_and_a_neighbour():
    """Guards and indices that are divided: an image twice as large, beside another."""
    x, y = torch.randn(2, 3, 6, 6), torch.randn(2, 3, 12, 12)

    def make():
        def body(build, a, b):
            wide = build("reshape", a, results=[tensor((2, 3, 6, 1, 6, 1))])
            wide = build("broadcast_to", wide, results=[tensor((2, 3, 6, 2, 6, 2))])
            wide = build("reshape", wide, results=[tensor((2, 3, 12, 12))])
            pads = {"low": (0, 0, 0, 0), "high": (0, 3, 0, 0), "value": 0.0}
            left = build("pad", wide, **pads)
            pads = {"low": (0, 3, 0, 0), "high": (0, 0, 0, 0), "value": 0.0}
            right = build("pad", b, **pads)
            return [build("maximum", left, right)]

        return build_kernel(
            [((2, 3, 6, 6), "f32"), ((2, 3, 12, 12), "f32")], (2, 6, 12, 12), body
        )

    assert check(make, [x, y], [torch.empty(2, 6, 12, 12)]).startswith("linear")


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_reductions_of_few_elements(size):
    """Each thread walks through its own elements; all pairs of two sets of points."""
    a, b = torch.randn(37, size), torch.randn(300, size)

    def make():
        def body(build, x, y):
            x = build("reshape", x, results=[tensor((37, 1, size))])
            apart = build("sub", x, y)
            total = build("reduce_sum", build("mul", apart, apart), dims=[2])
            return [build("exp", build("neg", total))]

        return build_kernel(
            [((37, size), "f32"), ((300, size), "f32")],
            (37, 300, size),
            body,
            reduced=(2,),
        )

    text = check(make, [a, b], [torch.empty(37, 300, 1)])
    assert size == 1 or text.startswith("windows")
