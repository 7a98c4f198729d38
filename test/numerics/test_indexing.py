"""Gathers, scatters and masks against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from samples import Sample, Spec, check_sample, each_dtype, index, mask
from tensors import ALL, transposed

import girih

FLOATS = (torch.float32, torch.bfloat16)


def put(x, rows, values):
    x = x.clone()
    x[rows] = values
    return x


def put_slice(x, values):
    x = x.clone()
    x[2:5, ::3] = values
    return x


SAMPLES = (
    Sample("embedding", lambda w, i: F.embedding(i, w) * 2, ((9, 5), index((3, 4), 9))),
    Sample(
        "embedding-sum",
        lambda w, i: F.embedding(i, w).sum(1),
        ((9, 5), index((3, 4), 9)),
    ),
    Sample(
        "index_select", lambda x, i: x.index_select(1, i), ((7, 9), index((4,), 9)), ALL
    ),
    Sample("index-rows", lambda x, i: x[i] + 1, ((9, 5), index((3, 2), 9)), FLOATS),
    Sample("index-columns", lambda x, i: x[:, i], ((4, 9), index((6,), 9)), ALL),
    Sample(
        "index-two", lambda x, i, j: x[i, j], ((9, 5), index((6,), 9), index((6,), 5))
    ),
    Sample(
        "index-broadcast",
        lambda x, i, j: x[i, :, j],
        ((9, 4, 5), index((6, 1), 9), index((3,), 5)),
    ),
    Sample("index-negative", lambda x, i: x[i - 9], ((9, 5), index((6,), 9))),
    Sample("index-list", lambda x: x[[0, 2, -1]], ((9, 5),)),
    Sample("gather-0", lambda x, i: x.gather(0, i), ((9, 5), index((4, 5), 9)), ALL),
    Sample("gather-1", lambda x, i: x.gather(1, i), ((9, 5), index((9, 3), 5)), ALL),
    Sample(
        "take_along_dim",
        lambda x, i: x.take_along_dim(i, 1),
        ((9, 5), index((9, 2), 5)),
    ),
    Sample("take", lambda x, i: x.take(i), ((9, 5), index((7,), 45))),
    Sample(
        "gather-transposed",
        lambda x, i: x.gather(1, i),
        (Spec((9, 5), layout=transposed), Spec((9, 3), torch.int64, 5, transposed)),
    ),
    Sample("one-hot", lambda i: F.one_hot(i, 9), (index((4, 3), 9),), FLOATS[:1]),
    Sample("where", torch.where, (mask((9, 5)), (9, 5), (9, 5)), ALL),
    Sample("where-broadcast", torch.where, (mask((9, 1)), (5,), (9, 5)), ALL),
    Sample(
        "where-scalar", lambda c, x: torch.where(c, x, 0), (mask((9, 5)), (9, 5)), ALL
    ),
    Sample(
        "masked_fill", lambda x, c: x.masked_fill(c, 1), ((9, 5), mask((9, 5))), ALL
    ),
    Sample(
        "masked-softmax",
        lambda x, c: x.masked_fill(c, -1e4).softmax(-1),
        ((9, 5), mask((5,))),
    ),
    Sample(
        "scatter",
        lambda x, i, y: x.scatter(1, i, y),
        ((3, 9), Spec((3, 1), torch.int64, 9), (3, 1)),
        ALL,
    ),
    Sample(
        "scatter_add",
        lambda x, i, y: x.scatter_add(0, i, y),
        ((9, 5), index((20, 5), 9), (20, 5)),
        (torch.float32, torch.float64, torch.int64),
    ),
    Sample(
        "index_add",
        lambda x, i, y: x.index_add(0, i, y),
        ((9, 5), index((20,), 9), (20, 5)),
        (torch.float32, torch.float64, torch.int64),
    ),
    Sample("index-put", put, ((9, 5), Spec((1,), torch.int64, 9), (1, 5)), ALL),
    Sample("slice-put", put_slice, ((9, 10), (3, 4)), ALL),
    Sample(
        "bucketize",
        lambda x: torch.bucketize(x, torch.arange(5.0)),
        ((9, 5),),
        FLOATS[:1],
    ),
    Sample("topk", lambda x: tuple(x.topk(3)), ((9, 31),), FLOATS[:1]),
    Sample(
        "sort",
        lambda x: tuple(torch.sort(x, dim=1, stable=True)),
        ((9, 31),),
        FLOATS[:1],
    ),
    Sample(
        "cross-entropy",
        F.cross_entropy,
        ((33, 50), index((33,), 50)),
        (torch.float32, torch.float64),
    ),
    Sample(
        "cross-entropy-rows",
        lambda x, t: F.cross_entropy(x, t, reduction="none", ignore_index=3),
        ((33, 50), index((33,), 50)),
        (torch.float32, torch.bfloat16),
    ),
    Sample(
        "cross-entropy-smooth",
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1),
        ((33, 50), index((33,), 50)),
        (torch.float32,),
    ),
    Sample("nll", F.nll_loss, ((33, 50), index((33,), 50)), (torch.float32,)),
)


@pytest.mark.parametrize(("sample", "dtype"), each_dtype(SAMPLES))
def test_indexing(sample, dtype):
    check_sample(sample, dtype, sums=True)


# Places that squares of registers are not loaded from: no strides lead to them.
TURNED = {
    "gathered rows": lambda x: x.gather(0, x.argsort(0)) * 2,
    "gathered columns": lambda x: x.gather(1, x.argsort(1)) * 2,
    "one row": lambda x: x[None].gather(0, x.argsort(0)[None] * 0) * 2,
    "rows twice": lambda x: x[torch.arange(len(x)) // 2] + 1,
    "repeated rows": lambda x: x.repeat_interleave(2, 0) + 1,
    "repeated": lambda x: x.repeat(2, 3) + 1,
    "rolled rows": lambda x: x.roll(5, 0) + 1,
    "rolled columns": lambda x: x.roll(5, 1) + 1,
    "windows": lambda x: x.unfold(0, 4, 2) * 2,
    "parts flipped": lambda x: x.unflatten(0, (3, -1)).flip(1).flatten(0, 1) * 2,
    "skewed": lambda x: x[torch.arange(len(x)) * 3 // 2 % len(x)] * x,
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", TURNED)
def test_places_of_turned_inputs(name, dynamic):
    function = TURNED[name]
    compiled = girih.compile(function, dynamic=dynamic, options={"fallback": False})
    for turned in (lambda x: x, lambda x: x.t().contiguous().t()):
        for sizes in ((66, 70), (258, 37), (33, 300)):
            x = turned(torch.randn(sizes))
            assert torch.equal(compiled(x), function(x)), sizes
