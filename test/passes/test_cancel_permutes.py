"""Norms over dims that are turned to the end, against eager."""

import pytest
import torch
from extent import spread

import girih

F = torch.nn.functional
PROGRAMS = {
    "norm": lambda x, w: (
        F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],)).permute(0, 3, 1, 2)
        * w[:, None, None]
    ),
    "weighted norm": lambda x, w: (
        x
        + F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), w, w + 1).permute(
            0, 3, 1, 2
        )
    ),
    "softmax": lambda x, w: (x.transpose(1, 3) * 2).softmax(-1).transpose(1, 3),
    "sums": lambda x, w: (
        x.permute(2, 3, 0, 1) - x.permute(2, 3, 0, 1).sum((0, 3), keepdim=True)
    ).permute(2, 3, 0, 1),
    "two tensors": lambda x, w: (
        ((x.mT + x.exp().mT) / (x.mT.abs().amax(-1, keepdim=True) + 1)).mT
    ),
    "maxima, wide": lambda x, w: (
        x.permute(0, 2, 3, 1) - x.permute(0, 2, 3, 1).argmax(-1, keepdim=True)
    ).permute(0, 3, 1, 2),
}
SHAPES = ((2, 8, 5, 6), (1, 8, 1, 3), (3, 8, 7, 7), (0, 8, 2, 2))


def strides(x):
    """Those of dims with a second index."""
    return [
        stride for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1
    ]


@pytest.mark.parametrize(
    ("name", "dynamic", "memory_format"),
    spread(
        PROGRAMS,
        [False, True],
        [torch.contiguous_format, torch.channels_last],
        every=2,
    ),
)
def test_programs(name, dynamic, memory_format):
    function = PROGRAMS[name]
    compiled = girih.compile(function, dynamic=dynamic, options={"fallback": False})
    for shape in SHAPES:
        x = torch.randn(shape, dtype=torch.float64).to(memory_format=memory_format)
        w = torch.randn(8, dtype=torch.float64)
        with torch.no_grad():
            expected, actual = function(x, w), compiled(x, w)
        torch.testing.assert_close(actual, expected)
        assert strides(actual) == strides(expected)
        x, w = x.requires_grad_(), w.requires_grad_()
        seed = torch.randn_like(expected)
        wanted = torch.autograd.grad(function(x, w), (x, w), seed, allow_unused=True)
        found = torch.autograd.grad(compiled(x, w), (x, w), seed, allow_unused=True)
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_a_gpu(device, name):
    function = PROGRAMS[name]
    compiled = girih.compile(function, options={"fallback": False})
    for shape in SHAPES[:3]:
        x, w = torch.randn(shape), torch.randn(8)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x, w), function(x, w))
    assert device.launched


@pytest.mark.parametrize("name", ["norm", "weighted norm", "softmax"])
def test_one_kernel(name):
    compiled = girih.compile(PROGRAMS[name], options={"fallback": False})
    with torch.no_grad():
        compiled(torch.randn(2, 8, 5, 6), torch.randn(8))
    (graph,) = girih.report(compiled).graphs
    assert graph.launches == 1, graph
