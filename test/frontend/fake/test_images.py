"""Bytes are resized in fixed point numbers, where sizes are symbolic as well."""

import pytest
import torch
from extent import spread
from torch.nn.functional import interpolate

import girih


@pytest.mark.parametrize(
    ("mode", "align_corners", "antialias"),
    spread(["bilinear", "bicubic"], [False, True], [False, True], every=2),
)
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


MODES = (
    *(("nearest", rank) for rank in (1, 2, 3)),
    *(("nearest-exact", rank) for rank in (1, 2, 3)),
    *(("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)),
)


@pytest.mark.parametrize(
    ("dynamic", "mode", "rank", "compile"),
    [
        (dynamic, *mode, compile)
        for dynamic, mode, compile in spread(
            [False, True], MODES, [girih.compile, torch.compile], every=2
        )
    ],
)
def test_images_of_nothing_are_refused_as_in_eager(dynamic, mode, rank, compile):
    def resized(shape, **size):
        return lambda x: interpolate(x.new_ones(*shape), mode=mode, **size)

    options = {} if compile is girih.compile else {"backend": "girih"}
    sides = (4,) * rank
    for shape, size in (
        ((2, 0, *sides), {"size": 3}),
        ((2, 1, 0, *sides[1:]), {"size": 3}),
        ((2, 1, *sides), {"size": 0}),
        ((2, 1, *sides), {"scale_factor": 0.1}),
    ):
        function = resized(shape, **size)
        with pytest.raises(RuntimeError) as expected:
            function(torch.ones(1))
        compiled = compile(function, dynamic=dynamic, **options)
        with pytest.raises(RuntimeError) as found:
            compiled(torch.ones(1))
        if compile is girih.compile:
            assert str(found.value) == str(expected.value)
    nobody = resized((0, 1, *sides), size=3)
    compiled = compile(nobody, dynamic=dynamic, **options)
    assert compiled(torch.ones(1)).shape == nobody(torch.ones(1)).shape


@pytest.mark.parametrize("compile", [girih.compile, torch.compile])
@pytest.mark.parametrize(("mode", "rank"), MODES)
def test_a_size_that_becomes_zero_is_refused(mode, rank, compile):
    def function(x, size):
        return interpolate(x, size=(size,) * rank, mode=mode)

    options = {} if compile is girih.compile else {"backend": "girih"}
    compiled = compile(function, dynamic=True, **options)
    x = torch.rand(2, 3, *(4,) * rank)
    for size in (3, 5):
        torch.testing.assert_close(compiled(x, size), function(x, size))
    # TorchDynamo itself divides by some of these sizes, and wraps that error.
    text = "greater than 0" if compile is girih.compile else "greater than 0|fake"
    with pytest.raises(RuntimeError, match=text):
        compiled(x, 0)
