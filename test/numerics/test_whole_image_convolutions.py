"""Convolutions whose window is the whole image, which are products."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from extent import spread

import girih

TOLERANCE = {
    torch.float64: 1e-12,
    torch.float32: 1e-5,
    torch.bfloat16: 2e-2,
    torch.float16: 4e-3,
}
SHAPES = [(64, 16, (1, 1)), (3, 5, (2, 3)), (1, 1, (1, 1)), (7, 64, (1, 4))]
COUNTS = [0, 1, 17]


def _gate(x, weight, bias):
    return F.silu(F.conv2d(x, weight, bias, stride=3))


def _inputs(count, channels, out, image, dtype, has_bias):
    torch.manual_seed(0)
    x = torch.randn(count, channels, *image, dtype=dtype, requires_grad=True)
    weight = torch.randn(out, channels, *image, dtype=dtype, requires_grad=True)
    bias = torch.randn(out, dtype=dtype, requires_grad=True) if has_bias else None
    return x, weight, bias


def _found(function, inputs):
    result = function(*inputs)
    sources = [x for x in inputs if x is not None]
    gradients = torch.autograd.grad(result.double().pow(2).sum(), sources)
    return [result.detach(), *gradients]


@pytest.mark.parametrize(
    ("dtype", "is_dynamic"), spread(TOLERANCE, [False, True], every=2), ids=str
)
def test_values_and_gradients(dtype, is_dynamic):
    for number, (count, shape) in enumerate(itertools.product(COUNTS, SHAPES)):
        inputs = _inputs(count, *shape, dtype, has_bias=number % 2)
        if number % 3 == 1:
            x = inputs[0].detach().to(memory_format=torch.channels_last)
            inputs = (x.requires_grad_(), *inputs[1:])
        compiled = girih.compile(_gate, dynamic=is_dynamic)
        found, expected = _found(compiled, inputs), _found(_gate, inputs)
        for x, y in zip(found, expected, strict=True):
            assert x.shape == y.shape and x.dtype == y.dtype
            least = y.abs().max().clamp(min=1) if y.numel() else 1
            assert not x.numel() or (x - y).abs().max() <= TOLERANCE[dtype] * least


def _calls(function, *inputs):
    compiled = girih.compile(function)
    with torch.no_grad():
        torch.testing.assert_close(compiled(*inputs), function(*inputs))
    (graph,) = girih.report(compiled).graphs
    return graph.externs


def test_a_gate_is_two_kernels_without_a_call():
    x, weight, bias = _inputs(1, 64, 48, (1, 1), torch.float32, True)
    assert _calls(_gate, x, weight, bias) == 0


@pytest.mark.parametrize(
    "options",
    [{"padding": 1}, {"groups": 8}, {"stride": 1}],
    ids=str,
)
def test_other_convolutions_are_calls(options):
    size = 3 if options != {"stride": 1} else 4
    x = torch.randn(1, 64, size, size)
    weight = torch.randn(48, 64 // options.get("groups", 1), 3, 3)
    assert _calls(lambda x, w: F.conv2d(x, w, **options), x, weight) == 1


@pytest.mark.parametrize("rank", [1, 3])
def test_other_ranks(rank):
    convolve = {1: F.conv1d, 3: F.conv3d}[rank]
    x, weight = torch.randn(1, 64, *[2] * rank), torch.randn(48, 64, *[2] * rank)
    assert _calls(convolve, x, weight, torch.randn(48)) == 0


def test_errors_are_eagers():
    x, weight, _ = _inputs(2, 3, 5, (2, 3), torch.float32, False)
    compiled = girih.compile(_gate)
    for wrong in (weight[:, :2], weight.double(), weight[..., 0]):
        with pytest.raises(RuntimeError) as expected:
            _gate(x, wrong, None)
        with pytest.raises(RuntimeError) as found:
            compiled(x, wrong, None)
        assert str(found.value) == str(expected.value)
