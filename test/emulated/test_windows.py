"""Reductions over windows, and other kernels with short sides, on an emulated GPU."""

import pytest
import torch
from extent import spread

import girih

F = torch.nn.functional
PROGRAMS = {
    "maxima": lambda x: F.max_pool2d(x.relu(), 3, 2, 1),
    "means": lambda x: F.avg_pool2d(x.sin(), 3, 1, 1, count_include_pad=False),
    "side by side": lambda x: F.max_pool2d(x, 2),
    "equal windows": lambda x: F.adaptive_avg_pool2d(x, (x.shape[2] // 4, 1)),
    "dilated": lambda x: F.max_pool2d(x, 3, 1, 1, 2),
    "row sums of windows": lambda x: x.unfold(2, 4, 2).unfold(3, 3, 1).sum((-1, -2)),
    "interleaved": lambda x: torch.stack([x * 2, x + 1], -1).flatten(-2),
    "reflected": lambda x: F.pad(x, (2, 1, 1, 2), mode="reflect").relu(),
}


@pytest.mark.parametrize(
    ("name", "memory_format", "dynamic", "dtype"),
    spread(
        PROGRAMS,
        [torch.contiguous_format, torch.channels_last],
        [False, True],
        [torch.float32, torch.float16],
        every=2,
    ),
)
def test_programs(device, name, memory_format, dynamic, dtype):
    compiled = girih.compile(
        PROGRAMS[name], dynamic=dynamic, options={"fallback": False}
    )
    for shape in ((2, 3, 8, 12), (1, 33, 20, 7), (3, 1, 4, 65)):
        x = torch.randn(shape).to(dtype).to(memory_format=memory_format)
        with torch.no_grad():
            expected = PROGRAMS[name](x.double()).to(dtype)
            actual = compiled(x)
            rounding = {torch.float32: 1e-5, torch.float16: 2e-3}[dtype]
            torch.testing.assert_close(actual, expected, rtol=rounding, atol=rounding)
            assert actual.stride() == PROGRAMS[name](x).stride()
    assert device.launched


@pytest.mark.parametrize("sizes", [(300, 65), (70, 500), (1, 300), (1500, 1030)])
def test_pairs_of_two_sets(device, sizes):
    def gaussians(a, b):
        return torch.exp(-(a[:, None] - b[None]).square().sum(-1)) + a[:, None, 0]

    compiled = girih.compile(gaussians, options={"fallback": False})
    points = [torch.randn(size, 3) for size in sizes]
    torch.testing.assert_close(compiled(*points), gaussians(*points))
    assert device.launched


@pytest.mark.parametrize("shape", [(2, 37, 90, 89), (1, 300, 45, 46)])
@pytest.mark.parametrize("name", ["maxima", "means"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_windows_beside_those_of_neighbours(device, name, shape, dtype):
    # So many results that a thread has several of them.
    compiled = girih.compile(PROGRAMS[name], options={"fallback": False})
    x = torch.randn(shape).to(dtype).to(memory_format=torch.channels_last)
    expected = PROGRAMS[name](x.double()).to(dtype)
    rounding = {torch.float32: 1e-5, torch.float16: 2e-3}[dtype]
    torch.testing.assert_close(compiled(x), expected, rtol=rounding, atol=rounding)
    assert device.launched
