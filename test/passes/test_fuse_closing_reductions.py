"""Reductions along two sets of dims in one fusion compute what the program did."""

import pytest
import torch
from closeness import assert_like_eager
from importing import import_function
from normal_form import check_fusion, fusions_of

import girih
from girih.compiler.gpu_code import GpuTarget
from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.evaluation import reference
from girih.passes.fuse_closing_reductions import ClosingOptions
from girih.passes.registry import run_pipeline

PASS = "fuse-closing-reductions"


def softmax_and_sum(x, w):
    return torch.softmax(x * w, 1).sum(-1)


def result_is_kept(x, w):
    y = torch.softmax(x + w, 1)
    return y, y.sum(2), y.amax(2)


def statistics_are_kept(x, w):
    top = x.amax(1, keepdim=True)
    return top, ((x - top) * w).mean(2)


def position(x, w):
    return (x - x.mean(1, keepdim=True) * w).argmax(2)


def arithmetic_behind(x, w):
    y = x / x.square().sum(1, keepdim=True)
    return torch.tanh(y.sum(2, keepdim=True) * w) + 1


def along_rows(x, w):
    return (torch.log_softmax(x, 2) * w).sum(1)


def read_twice(x, w):
    y = torch.softmax(x, 1)
    return (y * w).sum(2), (y - x).sum(2)


JOINED = (
    softmax_and_sum,
    result_is_kept,
    statistics_are_kept,
    position,
    arithmetic_behind,
    along_rows,
    read_twice,
)


def same_dim(x, w):
    return torch.softmax(x * w, 1).sum(1)


def all_others(x, w):
    return torch.softmax(x * w, 1).sum((0, 2))


def another_shape(x, w):
    y = torch.softmax(x * w, 1)
    return y.view(y.shape[0], -1, 1).sum(1)


def a_slice(x, w):
    return torch.softmax(x * w, 1)[:, 1:].sum(2)


def stored_between(x, w):
    y = torch.softmax(x * w, 1)
    return (y * torch.cumsum(y, 2)).sum(2)


LEFT_ALONE = (same_dim, all_others, another_shape, a_slice, stored_between)


def inputs(dtype=torch.float32, shape=(300, 5, 7)):
    return torch.randn(shape).to(dtype), torch.randn(shape[1], 1).to(dtype)


def joined(function, arguments, options=""):
    imported = import_function(function, *arguments)
    with imported.module.context, ir.Location.unknown():
        run_pipeline(imported.module, ["graph", PASS + options])
        verifier.verify(imported.module)
    fusions = fusions_of(imported.module)
    for fusion in fusions:
        check_fusion(fusion)
    return imported, [fusion for fusion in fusions if fusion.closing]


@pytest.mark.parametrize("function", JOINED, ids=lambda each: each.__name__)
def test_joined(function):
    arguments = inputs()
    imported, closing = joined(function, arguments)
    assert len(closing) == 1
    actual = reference.run(imported, arguments, precise=True)
    expected = function(*(each.double() for each in arguments))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for own, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(own, wanted)


@pytest.mark.parametrize("function", LEFT_ALONE, ids=lambda each: each.__name__)
def test_left_alone(function):
    assert joined(function, inputs())[1] == []


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((263, 5, 7), ""),
        ((300, 5, 7), "{held=4}"),
        ((300, 5, 7), "{elements=34}"),
        ((300, 1, 7), ""),
        ((300, 5, 1), ""),
        ((300, 0, 7), ""),
    ],
)
def test_too_few_too_large_too_small(shape, options):
    assert joined(softmax_and_sum, inputs(shape=shape), options)[1] == []


FLOATS = (torch.float32, torch.bfloat16, torch.float16)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("function", JOINED, ids=lambda each: each.__name__)
@pytest.mark.parametrize("shape", [(300, 5, 7), (2, 31, 130), (3, 64, 64)], ids=str)
def test_on_a_device(function, shape, dtype, device, monkeypatch):
    """Compiled for an emulated GPU, where two programs are enough."""
    options = GpuTarget.pass_options
    monkeypatch.setattr(
        GpuTarget,
        "pass_options",
        lambda self, given: {
            **options(self, given),
            PASS: ClosingOptions(programs=2),
        },
    )
    x, w = inputs(dtype, shape)
    run = girih.compile(function, options={"fallback": False})
    actual, expected = run(x, w), function(x, w)
    if function is position:
        # Eager rounds to 16 bits in between, so others may be the largest.
        y = (x - x.mean(1, keepdim=True) * w).double()
        actual, expected = (y.gather(2, p[..., None]) for p in (actual, expected))
        torch.testing.assert_close(
            actual, expected, rtol=torch.finfo(dtype).eps, atol=0
        )
        return
    is_single = function is softmax_and_sum
    assert not is_single or girih.report(run).kernels == 1
    assert_like_eager(
        actual, expected, lambda: function(x.double(), w.double()), sums=True
    )
