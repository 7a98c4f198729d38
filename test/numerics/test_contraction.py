"""Matrix products, convolutions, attention and pooling against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from samples import Sample, Spec, check_sample, each_dtype, mask
from tensors import transposed

import girih

DTYPES = (torch.float32, torch.float64, torch.bfloat16)
FLOAT = (torch.float32,)
IMAGE = (2, 6, 11, 13)
QUERY = (2, 3, 17, 8)


def conv(**options):
    return lambda x, w: F.relu(F.conv2d(x, w, **options)) + 1


def attention(**options):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options) * 2


def written_out_attention(q, k, v):
    scores = q @ k.transpose(-1, -2) / 8**0.5
    causal = torch.ones(17, 17, dtype=torch.bool).tril()
    return scores.masked_fill(~causal, -torch.inf).softmax(-1) @ v


SAMPLES = (
    Sample("mm", lambda x, y: (x * 2) @ y + 1, ((5, 7), (7, 9)), DTYPES),
    Sample("mm-empty", torch.mm, ((5, 0), (0, 9)), DTYPES),
    Sample("mm-transposed", lambda x, y: x.t() @ y, ((7, 5), (7, 9)), DTYPES),
    Sample("mm-layout", torch.mm, (Spec((5, 7), layout=transposed), (7, 9)), DTYPES),
    Sample("bmm", torch.bmm, ((3, 5, 7), (3, 7, 9)), DTYPES),
    Sample("addmm", torch.addmm, ((9,), (5, 7), (7, 9)), DTYPES),
    Sample(
        "addmm-scaled",
        lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2),
        ((5, 9), (5, 7), (7, 9)),
        DTYPES,
    ),
    Sample("baddbmm", torch.baddbmm, ((3, 5, 9), (3, 5, 7), (3, 7, 9)), DTYPES),
    Sample("matmul-broadcast", torch.matmul, ((2, 1, 5, 7), (3, 7, 9)), DTYPES),
    Sample("matmul-vector", torch.matmul, ((3, 5, 7), (7,)), DTYPES),
    Sample("dot", torch.dot, ((17,), (17,)), DTYPES),
    Sample("mv", torch.mv, ((5, 7), (7,)), DTYPES),
    Sample("outer", torch.outer, ((5,), (7,)), DTYPES),
    Sample("linear", F.linear, ((3, 5, 7), (9, 7), (9,)), DTYPES),
    Sample("linear-plain", F.linear, ((3, 5, 7), (9, 7)), DTYPES),
    Sample(
        "linear-gelu",
        lambda x, w, b: F.gelu(F.linear(x, w, b)),
        ((5, 7), (9, 7), (9,)),
        DTYPES,
    ),
    Sample(
        "einsum",
        lambda x, y: torch.einsum("bij,bkj->bik", x, y),
        ((2, 3, 5), (2, 4, 5)),
        DTYPES,
    ),
    Sample(
        "conv1d",
        lambda x, w, b: F.conv1d(x, w, b, padding=1),
        ((2, 6, 13), (4, 6, 3), (4,)),
        FLOAT,
    ),
    Sample("conv2d", conv(), (IMAGE, (4, 6, 3, 3)), FLOAT),
    Sample(
        "conv2d-strided", conv(stride=2, padding=(1, 2)), (IMAGE, (4, 6, 3, 3)), FLOAT
    ),
    Sample("conv2d-dilated", conv(dilation=2), (IMAGE, (4, 6, 3, 3)), FLOAT),
    Sample("conv2d-groups", conv(groups=3), (IMAGE, (6, 2, 3, 3)), FLOAT),
    Sample("conv2d-same", conv(padding="same"), (IMAGE, (4, 6, 3, 3)), FLOAT),
    Sample("conv2d-1x1", conv(), (IMAGE, (4, 6, 1, 1)), FLOAT),
    Sample(
        "conv2d-channels-last",
        lambda x, w: F.relu(F.conv2d(x.to(memory_format=torch.channels_last), w)),
        (IMAGE, (4, 6, 3, 3)),
        FLOAT,
    ),
    Sample(
        "conv_transpose2d",
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        (IMAGE, (6, 4, 3, 3)),
        FLOAT,
    ),
    Sample("max_pool2d", lambda x: F.max_pool2d(x, 2), (IMAGE,), FLOAT),
    Sample("max_pool2d-padded", lambda x: F.max_pool2d(x, 3, 2, 1), (IMAGE,), FLOAT),
    Sample("avg_pool2d", lambda x: F.avg_pool2d(x, 2, 1), (IMAGE,), FLOAT),
    Sample(
        "adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1), (IMAGE,), FLOAT
    ),
    Sample(
        "adaptive_avg_pool2d-3", lambda x: F.adaptive_avg_pool2d(x, 3), (IMAGE,), FLOAT
    ),
    Sample("interpolate", lambda x: F.interpolate(x, scale_factor=2), (IMAGE,), FLOAT),
    Sample("attention", attention(), (QUERY,) * 3, DTYPES),
    Sample("attention-causal", attention(is_causal=True), (QUERY,) * 3, DTYPES),
    Sample("attention-written-out", written_out_attention, (QUERY,) * 3, FLOAT),
    Sample(
        "attention-mask",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        (*(QUERY,) * 3, mask((17, 17))),
        FLOAT,
    ),
)


@pytest.mark.parametrize(("sample", "dtype"), each_dtype(SAMPLES))
def test_contraction(sample, dtype):
    check_sample(sample, dtype, sums=True)


@pytest.mark.parametrize("outer", [torch.float32, torch.bool, torch.int8])
def test_what_a_product_is_combined_with_has_any_width(outer):
    """Kernels fetch ahead what sums are combined with: a mask has bytes, too."""
    torch.manual_seed(0)
    x, w = torch.randn(4, 10), torch.randn(10, 10)
    kept = (torch.rand(4, 10) > 0.3).to(outer)

    def f(x, w, kept):
        return (x @ w) * kept / 0.8

    compiled = girih.compile(f, options={"fallback": False})
    torch.testing.assert_close(compiled(x, w, kept), f(x, w, kept))
