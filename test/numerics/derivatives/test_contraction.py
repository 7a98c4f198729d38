"""Gradients of compiled products, convolutions and attention, against eager's."""

from __future__ import annotations

from textwrap import dedent

import pytest
import torch
import torch.nn.functional as F
from compiled_gradients import check_gradients
from processes import run_python
from tensors import transposed

FLOATS = (torch.float32, torch.float64, torch.bfloat16)


def normal(*shape: int, dtype=torch.float32) -> torch.Tensor:
    torch.manual_seed(sum(shape))
    return (torch.randn(shape, dtype=torch.float64) / 4).to(dtype)


# name: (function, shapes)
PRODUCTS = {
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, alpha=2), [(9,), (7, 5), (5, 9)]),
    "baddbmm": (torch.baddbmm, [(3, 1, 6), (3, 4, 5), (3, 5, 6)]),
    "bmm": (torch.bmm, [(3, 4, 5), (3, 5, 6)]),
    "dot": (torch.dot, [(33,), (33,)]),
    "einsum": (lambda a, b: torch.einsum("bik,bjk->bij", a, b), [(3, 4, 5), (3, 6, 5)]),
    "linear": (F.linear, [(4, 7, 5), (9, 5), (9,)]),
    "linear-one-row": (F.linear, [(5,), (9, 5), (9,)]),
    "linear-without-bias": (F.linear, [(7, 5), (9, 5)]),
    "matmul": (torch.matmul, [(2, 3, 4, 5), (5, 6)]),
    "mm": (torch.mm, [(7, 5), (5, 9)]),
    "mm-transposed": (lambda a, b: a @ b.t(), [(7, 5), (9, 5)]),
    "mv": (torch.mv, [(7, 5), (5,)]),
    "no-rows": (F.linear, [(0, 5), (9, 5), (9,)]),
}

CONVOLUTIONS = {
    "1d": (lambda *x: F.conv1d(*x, padding=1), [(2, 3, 9), (4, 3, 3), (4,)]),
    "2d": (F.conv2d, [(2, 3, 8, 7), (4, 3, 3, 2), (4,)]),
    "3d": (F.conv3d, [(2, 2, 4, 5, 6), (3, 2, 2, 2, 2), (3,)]),
    "strides": (
        lambda *x: F.conv2d(*x, stride=2, padding=1),
        [(2, 3, 8, 8), (4, 3, 3, 3)],
    ),
    "groups": (lambda *x: F.conv2d(*x, groups=4), [(2, 4, 6, 6), (8, 1, 3, 3), (8,)]),
    "transposed": (
        lambda *x: F.conv_transpose2d(*x, stride=2, output_padding=1),
        [(2, 3, 5, 5), (3, 4, 3, 3), (4,)],
    ),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, dtype):
    function, shapes = PRODUCTS[name]
    inputs = [normal(*shape, dtype=dtype) for shape in shapes]
    check_gradients(function, inputs, sums=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, dtype):
    function, shapes = CONVOLUTIONS[name]
    inputs = [normal(*shape, dtype=dtype) for shape in shapes]
    check_gradients(function, inputs, sums=True)


@pytest.mark.parametrize("which", ["both", "image", "weight"])
def test_channels_last(which):
    x, weight, bias = normal(2, 3, 8, 8), normal(4, 3, 3, 3), normal(4)
    last = {"memory_format": torch.channels_last}
    x = x if which == "weight" else x.contiguous(**last)
    weight = weight if which == "image" else weight.contiguous(**last)
    check_gradients(lambda *v: F.conv2d(*v).relu(), [x, weight, bias], sums=True)


TWO_STEMS = """
    import torch
    import torch.nn.functional as F
    import girih

    torch.set_num_threads(1)
    x = torch.randn(1, 3, 256, 256)
    if LAYOUT == "channels_last":
        x = x.contiguous(memory_format=torch.channels_last)
    weights = torch.randn(48, 3, 3, 3), torch.randn(48, 3, 1, 1)

    def stem(x, a, b):
        return F.conv2d(x, a, None, 2, 1) + F.conv2d(x, b, None, 2)

    train = girih.compile(stem, options={"fallback": False})
    for _ in range(6):
        leaves = [leaf.clone().requires_grad_() for leaf in (x, *weights)]
        train(*leaves).sum().backward()
    print("done")
"""


@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
def test_strided_points_of_few_channels_harm_nobody(layout):
    """oneDNN corrupts the heap where their channels are innermost, also in eager."""
    assert run_python(f"LAYOUT = {layout!r}\n" + dedent(TWO_STEMS)) == "done\n"


def test_layouts():
    a, b = transposed(normal(7, 5)), transposed(normal(9, 5))
    check_gradients(lambda a, b: torch.tanh(a @ b.t()), [a, b], sums=True)
    check_gradients(F.linear, [a, b], sums=True)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_attention(dtype, causal):
    inputs = [normal(2, 4, 16, 8, dtype=dtype) for _ in range(3)]

    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    check_gradients(attend, inputs, sums=True)


def test_attention_of_projected_heads():
    def attend(x, weight):
        parts = F.linear(x, weight).view(2, 16, 3, 4, 8).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*parts)
        return y.transpose(1, 2).reshape(2, 16, 32)

    check_gradients(attend, [normal(2, 16, 32), normal(96, 32)], sums=True)


def test_attention_with_a_mask():
    query, key, value = (normal(2, 4, 16, 8) for _ in range(3))
    mask = torch.ones(16, 16, dtype=torch.bool).tril()

    def attend(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    check_gradients(attend, [query, key, value, mask], sums=True)
    check_gradients(attend, [query, key, value, normal(16, 16)], sums=True)
