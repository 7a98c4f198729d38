"""Sums of columns beside reductions of rows: one kernel computes what two did."""

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
SMALL = {"shared_elements": 1, "least_row": 8, "short_row": 8, "row_programs": 6}
TEXT = "{" + " ".join(f"{k.replace('_', '-')}={n}" for k, n in SMALL.items()) + "}"


def wide(x):
    """Sums of 16 bits are rounded to these, and stay kernels of their own."""
    return x if x.dtype == torch.float64 else x.float()


def rms_norm(g, x, w):
    """Gradients of the input and of the weights."""
    g, x, last = wide(g), wide(x), g.ndim - 1
    scale = torch.rsqrt(x.square().mean(last, keepdim=True) + 1e-6)
    y = g * w
    dot = (y * x).mean(last, keepdim=True)
    return y * scale - x * scale**3 * dot, (g * x).sum(tuple(range(last)))


def columns_first(g, x, w):
    return (wide(g) * x).sum(0).to(g.dtype), torch.softmax(wide(g) * x, -1) + w


def two_sums(g, x, w):
    y = wide(g) * w
    return y - y.mean(-1, keepdim=True), (wide(g) * x).sum(0), wide(g).sum(0) * 2


def whole_rows_are_summed(g, x, w):
    return (wide(g) * x).sum(-1), (wide(g) + x * w).sum(0)


JOINED = (rms_norm, columns_first, two_sums, whole_rows_are_summed)


def maxima(g, x, w):
    return torch.softmax(g * x, -1), (g + x).amax(0)


def of_the_result(g, x, w):
    y = torch.softmax(g * x, -1)
    return y, (y * g).sum(0)


def through_another(g, x, w):
    """Neither kernel can come first: there is a product of matrices between."""
    top = torch.softmax(wide(g) * x, -1).sum(-1, keepdim=True)
    return (wide(g) * x * (top.mT @ top)).sum(0)


def strangers(g, x, w):
    return torch.softmax(g, -1), wide(x).sum(0)


def part_of_the_rows(g, x, w):
    return torch.softmax(g * x, -1), (wide(g[1:]) * x[1:]).sum(0)


LEFT_ALONE = (
    maxima,
    of_the_result,
    through_another,
    strangers,
    part_of_the_rows,
)


def inputs(dtype=torch.float32, shape=(48, 24)):
    return *(torch.randn(shape).to(dtype) for _ in range(2)), torch.randn(shape[-1])


def joined(function, arguments, options=TEXT):
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
    assert [tuple(fusion.domain) for fusion in closing] == [(6, 8, 24)]
    actual = reference.run(imported, arguments, precise=True)
    expected = function(*(each.double() for each in arguments))
    for own, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(own.double(), wanted.double())


def test_what_does_not_fit_into_shared_memory_is_left_alone():
    def function(a, b, c):
        a, b, c = wide(a), wide(b), wide(c)
        return torch.softmax(a * b * c, -1), (a * b).sum(0)

    for dtype, count in ((torch.bfloat16, 1), (torch.float32, 0)):
        arguments = [torch.randn(48, 24).to(dtype) for _ in range(3)]
        assert len(joined(function, arguments)[1]) == count


def test_leading_dims_are_one():
    _, closing = joined(rms_norm, inputs(shape=(3, 16, 24)))
    assert [tuple(fusion.domain) for fusion in closing] == [(6, 8, 24)]


def test_short_rows_have_twice_as_many_programs():
    _, closing = joined(rms_norm, inputs(shape=(48, 8)))
    assert [tuple(fusion.domain) for fusion in closing] == [(12, 4, 8)]


@pytest.mark.parametrize("function", LEFT_ALONE, ids=lambda each: each.__name__)
def test_left_alone(function):
    shape = (24, 24) if function is through_another else (48, 24)
    assert joined(function, inputs(shape=shape))[1] == []


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((48, 24), ""),
        ((48, 24), TEXT.replace("elements=1", "elements=1153")),
        ((48, 24), TEXT.replace("}", " row=23}")),
        ((48, 7), TEXT),
        ((47, 24), TEXT),
        ((6, 24), TEXT),
    ],
)
def test_too_small_too_long_and_no_equal_parts(shape, options):
    assert joined(rms_norm, inputs(shape=shape), options)[1] == []


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float16))
@pytest.mark.parametrize("function", JOINED, ids=lambda each: each.__name__)
@pytest.mark.parametrize("shape", [(48, 24), (30, 130), (12, 513), (12, 2050)], ids=str)
def test_on_a_device(function, shape, dtype, device, monkeypatch):
    """Compiled for an emulated GPU."""
    options = GpuTarget.pass_options
    monkeypatch.setattr(
        GpuTarget,
        "pass_options",
        lambda self, given: {
            **options(self, given),
            PASS: ClosingOptions(**SMALL),
        },
    )
    arguments = inputs(dtype, shape)
    run = girih.compile(function, options={"fallback": False})
    actual, expected = run(*arguments), function(*arguments)
    assert girih.report(run).kernels == 2
    doubles = [each.double() for each in arguments]
    assert_like_eager(actual, expected, lambda: function(*doubles), sums=True)
