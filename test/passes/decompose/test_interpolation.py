"""Interpolation in kernels against eager: sizes, factors, layouts, symbolic sizes."""

import pytest
import torch
from emulated_device import emulated_device
from extent import IS_LONG, extent, spread

import girih

F = torch.nn.functional
KINDS = {
    **{
        f"{mode}, {rank}": (rank, {"mode": mode})
        for mode in ("nearest", "nearest-exact")
        for rank in (1, 2, 3)
    },
    **{
        f"{mode}, {corners}": (rank, {"mode": mode, "align_corners": corners})
        for mode, rank in (("linear", 1), ("bilinear", 2), ("trilinear", 3))
        for corners in (False, True)
    },
    "bicubic, False": (2, {"mode": "bicubic", "align_corners": False}),
    "bicubic, True": (2, {"mode": "bicubic", "align_corners": True}),
}
SIDES = (5, 8, 7)
# What differs between kinds is the weights of the elements; all kinds share the rest.
SOME_KINDS = extent(
    ("nearest, 1", "nearest-exact, 2", "linear, False", "bilinear, True")
    + ("trilinear, False", "bicubic, False"),
    long=tuple(KINDS),
)
SIZES = (
    *({"scale_factor": factor} for factor in (2, 3, 0.5, 1.7, 0.3, 2.6, 1.0)),
    *({"size": size} for size in (1, 3, 8, 13, 32)),
    {"scale_factor": 1.7, "recompute_scale_factor": True},
)


def image(rank, *leading, dtype=torch.float32):
    generator = torch.Generator().manual_seed(rank)
    shape = (*(leading or (2, 3)), *SIDES[:rank])
    return torch.randn(shape, generator=generator, dtype=dtype)


def same(function, *inputs, calls=None, close=(1e-5, 1e-5), **options):
    """Compares results and strides with eager's; gives the compiled function."""
    compiled = girih.compile(function, options={"fallback": False}, **options)
    rtol, atol = close
    with torch.no_grad():
        for args in [inputs, *(calls or ())]:
            expected, actual = function(*args), compiled(*args)
            torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol)
            assert actual.stride() == expected.stride()
    return compiled


def externs(compiled):
    return girih.report(compiled).externs


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_and_factors(kind):
    rank, mode = KINDS[kind]
    x = image(rank)
    place = list(KINDS).index(kind)
    for size in SIZES if IS_LONG else SIZES[place % 4 :: 4]:
        same(lambda x, size=size: F.interpolate(x, **size, **mode).relu(), x)


@pytest.mark.parametrize("kind", KINDS)
def test_other_floats(kind):
    rank, mode = KINDS[kind]
    for dtype, close in (
        (torch.float64, (1e-12, 1e-12)),
        (torch.float16, (4e-3, 4e-3)),
        (torch.bfloat16, (3e-2, 3e-2)),
    ):
        x = image(rank, dtype=dtype)
        sizes = ({"size": 9}, {"scale_factor": 1.5})
        for size in extent(sizes[:1], long=sizes):
            same(lambda x, size=size: F.interpolate(x, **size, **mode), x, close=close)


@pytest.mark.parametrize(
    ("kind", "channels"),
    spread(
        [kind for kind, (rank, _) in KINDS.items() if rank > 1],
        extent([1, 3], long=[1, 3, 8]),
        every=2,
    ),
)
def test_channels_last(kind, channels):
    rank, mode = KINDS[kind]
    form = {2: torch.channels_last, 3: torch.channels_last_3d}[rank]
    x = image(rank, 2, channels).contiguous(memory_format=form)
    for size in ({"size": 9}, {"scale_factor": 2}):
        same(lambda x, size=size: F.interpolate(x.sin(), **size, **mode) + 1, x)
        same(lambda x, size=size: F.interpolate(x, **size, **mode), x[:, :, 1:])


@pytest.mark.parametrize(
    ("kind", "size"),
    spread(KINDS, [{"scale_factor": 2}, {"scale_factor": 3}, {"size": 9}], every=3),
)
def test_symbolic_sizes(kind, size):
    rank, mode = KINDS[kind]

    def resized(x):
        return F.interpolate(x.relu(), **size, **mode) * 2

    calls = [(torch.randn(b, 2, *range(3 + b, 3 + b + rank)),) for b in (1, 4, 0)]
    compiled = same(resized, image(rank), calls=calls, dynamic=True)
    assert externs(compiled) == 0


def test_symbolic_factors():
    for mode, factors in (
        ("nearest", (0.4, 1.5, 1.2, 2.3)),
        ("nearest-exact", (1.75, 2.3)),
        ("bilinear", (0.4, 1.2, 2.3)),
        ("bicubic", (1.5,)),
    ):
        for factor in extent(factors[:2], long=factors):
            same(
                lambda x, mode=mode, factor=factor: F.interpolate(
                    x, scale_factor=factor, mode=mode
                ),
                torch.randn(2, 3, 5, 7),
                calls=[(torch.randn(1, 2, n, n + 1),) for n in (3, 12)],
                dynamic=True,
            )


def test_factors_for_which_rounding_leads_to_the_element_before():
    for times in (41, 47, 55):
        for mode in ("nearest", "nearest-exact"):
            same(
                lambda x, times=times, mode=mode: F.interpolate(
                    x, scale_factor=times, mode=mode
                ),
                torch.randn(1, 1, 70),
            )


def test_factors_that_are_not_those_of_the_sizes():
    def resized(x):
        up = torch.ops.aten.upsample_linear1d(x, [9], False, 4.0)
        return up + torch.ops.aten.upsample_nearest1d(x, [9], 0.9)

    same(resized, torch.randn(2, 3, 5))


def test_what_is_not_a_number_stays_where_it_is():
    x = image(2)
    x[0, 0, 2, 2], x[1, 1, 0, 0], x[1, 2, 4, 7] = torch.nan, torch.inf, -torch.inf
    for size in ({"size": (7, 9)}, {"scale_factor": 2}):
        for mode in ("nearest", "bilinear"):
            function = girih.compile(
                lambda x, size=size, mode=mode: F.interpolate(x, **size, mode=mode)
            )
            expected = F.interpolate(x, **size, mode=mode)
            torch.testing.assert_close(function(x), expected, equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
def test_no_call_of_aten_is_left(kind):
    rank, mode = KINDS[kind]
    sizes = ({"scale_factor": 2}, {"scale_factor": 1.5}, {"size": 4})
    one = sizes[list(KINDS).index(kind) % len(sizes)]
    for size in extent((one,), long=sizes):
        function = same(
            lambda x, size=size: F.interpolate(x, **size, **mode), image(rank)
        )
        assert externs(function) == 0


def test_bytes_and_antialiasing_are_the_library_s():
    x = torch.randint(0, 256, (1, 3, 6, 6), dtype=torch.uint8)
    assert externs(same(lambda x: F.interpolate(x, size=9, mode="bilinear"), x)) == 1
    smoothed = same(
        lambda x: F.interpolate(x, size=4, mode="bilinear", antialias=True), image(2)
    )
    assert externs(smoothed) == 1


@pytest.mark.parametrize(
    ("kind", "dynamic"), spread(SOME_KINDS, [False, True], every=2)
)
def test_gpu_kernels_hold_what_comes_before_and_after(kind, dynamic):
    rank, mode = KINDS[kind]
    x = image(rank)
    for size in ({"scale_factor": 2}, {"size": 9}):

        def activated(x, size=size):
            return F.interpolate(x, **size, **mode).relu()

        def joined(x, y, size=size):
            return torch.cat([F.interpolate(x, **size, **mode), y], 1)

        with emulated_device() as device, torch.no_grad():
            compiled = girih.compile(activated, dynamic=dynamic)
            torch.testing.assert_close(compiled(x), activated(x))
            assert len(device.launched) == 1
            if not dynamic:
                y = activated(x)
                torch.testing.assert_close(girih.compile(joined)(x, y), joined(x, y))
                assert len(device.launched) == 2


@pytest.mark.parametrize(("kind", "dynamic"), spread(KINDS, [False, True], every=2))
def test_derivatives(kind, dynamic):
    rank, mode = KINDS[kind]
    x = image(rank, 1, 2, dtype=torch.float64)[..., :3].clone().requires_grad_()
    # A factor and sizes, each with and without symbols, over the kinds.
    sizes = ({"scale_factor": 2}, {"size": 4})
    one = sizes[list(KINDS).index(kind) // 2 % 2]
    for size in extent((one,), long=sizes):
        compiled = girih.compile(
            lambda x, size=size: F.interpolate(x.tanh(), **size, **mode).pow(2),
            dynamic=dynamic,
            options={"fallback": False},
        )
        assert torch.autograd.gradcheck(compiled, x, fast_mode=True)
        assert torch.autograd.gradgradcheck(compiled, x, fast_mode=True)
