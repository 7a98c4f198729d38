"""Bytes are resized in fixed point numbers, where sizes are symbolic as well."""

import pytest
import torch
from torch.nn.functional import interpolate

import girih


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_bytes_of_symbolic_sizes_are_resized_as_in_eager(
    mode, align_corners, antialias
):
    kind = {"mode": mode, "align_corners": align_corners, "antialias": antialias}

    def program(x):
        size = (x.shape[2] + 3, x.shape[3] * 2)
        return interpolate(x, size=size, **kind), interpolate(
            x, scale_factor=1.7, **kind
        )

    compiled = girih.compile(program, dynamic=True, options={"fallback": False})
    generator = torch.Generator().manual_seed(0)
    for shape in ((1, 3, 5, 7), (2, 3, 8, 6)):
        x = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
        assert all(map(torch.equal, compiled(x), program(x)))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_resized_lines_are_contiguous(mode, dynamic):
    def function(x):
        return interpolate(x, scale_factor=2, mode=mode)

    compiled = girih.compile(function, dynamic=dynamic)
    for length in (8, 9):
        x = torch.randn(length, 5, 2).permute(2, 1, 0)
        assert compiled(x).stride() == function(x).stride()
        assert torch.equal(compiled(x), function(x))
