"""Gradients of compiled reductions, normalisations and losses, against eager's.

Small floats are compared with float64 where eager's own gradient is not close: a fused
backward pass rounds less often.
"""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from closeness import assert_like_eager
from samples import Sample, Spec, each_dtype, index
from tensors import transposed
from torch import Tensor

import girih

ROWS = (9, 33)
IMAGE = (3, 8, 5, 7)


def gradients(function, inputs):
    """Gradients of all float inputs, for seeded cotangents of all float results."""
    leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    results = function(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    sources = [result for result in results if result.requires_grad]
    generator = torch.Generator().manual_seed(0)
    cotangents = [
        torch.randn(s.shape, dtype=torch.float64, generator=generator, device="cpu").to(
            s
        )
        for s in sources
    ]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    found = torch.autograd.grad(sources, wanted, cotangents, materialize_grads=True)
    return [gradient.contiguous() for gradient in found]


def check(sample: Sample, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    inputs = sample.make(dtype)
    compiled = girih.compile(sample.function, fullgraph=True)
    actual, expected = (gradients(f, inputs) for f in (compiled, sample.function))
    assert all(graph.fallback is None for graph in girih.report(compiled).graphs)
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    assert_like_eager(
        actual, expected, lambda: gradients(sample.function, wide), sums=True
    )


def with_weight(weight: Tensor, function):
    return lambda x, *rest: function(x, *rest, weight.to(x.dtype))


NORMALISATIONS = (
    Sample(
        "layer_norm", lambda x, w, b: F.layer_norm(x, (33,), w, b), (ROWS, (33,), (33,))
    ),
    Sample("layer_norm-plain", lambda x: F.layer_norm(x, (33,)), (ROWS,)),
    Sample(
        "layer_norm-residual",
        lambda x, y, w, b: F.layer_norm(x + F.gelu(y), (33,), w, b) * y,
        (ROWS, ROWS, (33,), (33,)),
    ),
    Sample(
        "layer_norm-transposed",
        lambda x, w, b: F.layer_norm(x, (33,), w, b),
        (Spec(ROWS, layout=transposed), (33,), (33,)),
    ),
    Sample("rms_norm", lambda x, w: F.rms_norm(x, (33,), w), (ROWS, (33,))),
    Sample("group_norm", lambda x, w, b: F.group_norm(x, 4, w, b), (IMAGE, (8,), (8,))),
    Sample(
        "batch_norm",
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        (IMAGE, (8,), (8,)),
    ),
    Sample(
        "batch_norm-inference",
        lambda x, w, b: F.batch_norm(
            x, torch.zeros(8, dtype=x.dtype), torch.ones(8, dtype=x.dtype), w, b
        ),
        (IMAGE, (8,), (8,)),
    ),
    Sample("instance_norm", F.instance_norm, (IMAGE,)),
    Sample("softmax", lambda x: x.softmax(-1), (ROWS,)),
    Sample("softmax-columns", lambda x: x.softmax(0), (ROWS,)),
    Sample("log_softmax", lambda x: x.log_softmax(-1), (ROWS,)),
    Sample("normalize", F.normalize, (ROWS,)),
    Sample("cosine_similarity", F.cosine_similarity, (ROWS, ROWS)),
)

REDUCTIONS = (
    Sample("sum", lambda x: x.sum(1), (ROWS,)),
    Sample("mean", lambda x: (x.mean(), x.mean(0)), (ROWS,)),
    Sample("var", lambda x: (x.var(), x.std(1)), (ROWS,)),
    Sample("var_mean", lambda x: torch.var_mean(x, 0, correction=0), (ROWS,)),
    Sample("prod", lambda x: x.clamp(0.5, 1.5).prod(1), (ROWS,)),
    Sample("prod-zeros", lambda x: (x * x.ge(-1)).prod(1), ((9, 7),)),
    Sample("amax", lambda x: (x.amax(1), x.round().amin(0)), (ROWS,)),
    Sample("max", lambda x: (x.max(), x.round().min()), (ROWS,)),
    Sample("max-dim", lambda x: (x.round().max(1).values, x.min(0)[0]), (ROWS,)),
    Sample("logsumexp", lambda x: x.logsumexp(1), (ROWS,)),
    Sample("norm", lambda x: (x.norm(), x.norm(dim=1), x.norm(1, 0)), (ROWS,)),
    Sample("std-constant", lambda x: (x * 0 + 1).std(1), (ROWS,)),
    Sample("norm-zeros", lambda x: (x * 0).norm(dim=1), (ROWS,)),
    Sample("cumsum", lambda x: x.cumsum(1), (ROWS,)),
    Sample("sort", lambda x: x.sort(1).values, (ROWS,)),
    Sample("topk", lambda x: x.topk(5, 1).values, (ROWS,)),
    Sample("cumprod", lambda x: x.cumprod(1), ((5, 7),)),
    Sample("cumprod-zeros", lambda x: (x * x.ge(-1)).cumprod(1), ((9, 7),)),
    Sample("logcumsumexp", lambda x: x.logcumsumexp(1), (ROWS,)),
    Sample("cummax", lambda x: x.cummax(1).values, (ROWS,)),
    Sample("cummin-ties", lambda x: x.round().mul(x).cummin(0).values, (ROWS,)),
    Sample("median", lambda x: x.median(1).values, (ROWS,)),
)

POOLING = (
    Sample("max_pool", lambda x: F.max_pool2d(x.relu(), 2), (IMAGE,)),
    Sample("max_pool-overlap", lambda x: F.max_pool2d(x, 3, 2, 1), (IMAGE,)),
    Sample("max_pool-1d", lambda x: F.max_pool1d(x, 2), ((3, 8, 9),)),
    Sample("max_pool-3d", lambda x: F.max_pool3d(x, 2), ((2, 3, 4, 4, 5),)),
    Sample("avg_pool", lambda x: F.avg_pool2d(x, 2), (IMAGE,)),
    Sample("avg_pool-padded", lambda x: F.avg_pool2d(x, 3, 2, 1), (IMAGE,)),
    Sample("adaptive-1", lambda x: F.adaptive_avg_pool2d(x, 1), (IMAGE,)),
    Sample("adaptive-2", lambda x: F.adaptive_avg_pool2d(x, 2), (IMAGE,)),
    Sample(
        "max_pool-channels_last",
        lambda x: F.max_pool2d(x.contiguous(memory_format=torch.channels_last), 3, 2),
        (IMAGE,),
    ),
)


@pytest.mark.parametrize(
    ("sample", "dtype"), each_dtype((*NORMALISATIONS, *REDUCTIONS, *POOLING))
)
def test_gradients(sample, dtype):
    check(sample, dtype)


SIZES = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "log_softmax": lambda x: x.log_softmax(1),
    "cross_entropy": lambda x: F.cross_entropy(
        x, torch.ones(x.shape[0], dtype=torch.int64), label_smoothing=0.1
    ),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "var": lambda x: (x.var(), x.std(1), x.mean(0)),
    "prod": lambda x: x.prod(1),
    "max": lambda x: (x.max(), x.max(1).values, x.round().amin(0)),
    "median": lambda x: x.median(1).values,
    "max_pool": lambda x: F.max_pool2d(x[None], 2),
    "avg_pool": lambda x: F.avg_pool2d(x[None], 2),
    "adaptive_avg_pool": lambda x: F.adaptive_avg_pool2d(x[None], 1),
}


@pytest.mark.parametrize("function", SIZES.values(), ids=SIZES)
def test_sizes_that_vary(function):
    compiled = girih.compile(function, dynamic=True, fullgraph=True)
    for shape in ((5, 7), (6, 9), (11, 13)):
        x = torch.randn(shape, dtype=torch.float64)
        actual, expected = gradients(compiled, [x]), gradients(function, [x])
        torch.testing.assert_close(actual, expected)
    (report,) = girih.report(compiled).graphs
    assert report.fallback is None


CLASSES = 11
WEIGHT = torch.linspace(0.1, 2, CLASSES)
SHAPES = {
    "rows": ((7, CLASSES), (7,)),
    "image": ((2, CLASSES, 3, 5), (2, 3, 5)),
    "sequence": ((2, CLASSES, 5), (2, 5)),
    "one": ((CLASSES,), ()),
}


def cross_entropy(reduction, smoothing, ignored):
    def loss(x, target, weight=None):
        return F.cross_entropy(
            x,
            target,
            weight,
            reduction=reduction,
            label_smoothing=smoothing,
            ignore_index=ignored,
        )

    return loss


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(shape, reduction, smoothing, weighted):
    logits, target = SHAPES[shape]
    loss = cross_entropy(reduction, smoothing, -100 if shape == "one" else 3)
    function = with_weight(WEIGHT, loss) if weighted else loss
    sample = Sample("cross_entropy", function, (logits, index(target, CLASSES)))
    check(sample, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_cross_entropy_of_other_dtypes(dtype):
    loss = cross_entropy("mean", 0.1, -100)
    check(Sample("cross_entropy", loss, ((7, CLASSES), index((7,), CLASSES))), dtype)


def test_cross_entropy_with_probabilities():
    def loss(x, y):
        return F.cross_entropy(x, y.softmax(1), label_smoothing=0.1)

    check(Sample("cross_entropy", loss, ((7, CLASSES), (7, CLASSES))), torch.float32)


def test_all_targets_ignored():
    loss = cross_entropy("mean", 0.0, 3)

    def function(x):
        return loss(x, torch.full((7,), 3))

    check(Sample("cross_entropy", function, ((7, CLASSES),)), torch.float32)


def test_the_gradient_of_logits_is_computed_in_one_pass():
    """Softmax - onehot; the other kernel is about targets."""
    compiled = girih.compile(cross_entropy("mean", 0.0, -100), fullgraph=True)
    gradients(compiled, [torch.randn(64, 997), torch.randint(997, (64,))])
    (report,) = girih.report(compiled).graphs
    (backward,) = report.derivatives
    assert backward.kernels <= 2
    assert backward.externs == 0


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min", "aminmax"])
def test_an_infinite_gradient_arrives_where_eager_has_it(name):
    def gradient(compile):
        x = torch.tensor([[-1.0, math.inf], [2.0, 3.0]], requires_grad=True)
        result = compile(lambda x: getattr(x, name)(dim=0)[0])(x)
        (result * math.inf).sum().backward()
        return x.grad

    torch.testing.assert_close(
        gradient(girih.compile), gradient(lambda f: f), equal_nan=True
    )
