"""Pooling in kernels against eager: every geometry, NaN, layouts, symbolic sizes."""

import itertools
import math

import pytest
import torch
from extent import IS_LONG, extent, spread

import girih

F = torch.nn.functional
POOLS = {
    "max": (F.max_pool1d, F.max_pool2d, F.max_pool3d),
    "avg": (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d),
}


def same(function, *inputs, calls=None, **options):
    """Compares results and strides with eager's; gives the compiled function."""
    compiled = girih.compile(function, options={"fallback": False}, **options)
    with torch.no_grad():
        for args in [inputs, *(calls or ())]:
            expected, actual = function(*args), compiled(*args)
            torch.testing.assert_close(
                actual, expected, rtol=1e-5, atol=1e-6, equal_nan=True
            )
            assert actual.stride() == expected.stride()
    return compiled


GEOMETRY = [
    dict(kernel_size=k, stride=s, padding=p, ceil_mode=c)
    for k, s, p, c in itertools.product((1, 2, 3), (1, 2, 3), (0, 1), (False, True))
    if 2 * p <= k
]


def geometries(place):
    """All in the long form, else a third of them."""
    return GEOMETRY if IS_LONG else GEOMETRY[place % 3 :: 3]


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_geometry(name, count):
    x = torch.randn(2, 3, *(7, 6, 5)[3 - count :])
    for given in geometries(count + [*POOLS].index(name)):
        same(lambda x, given=given: POOLS[name][count - 1](x.sin(), **given), x)


@pytest.mark.parametrize(
    ("dilation", "ceil_mode", "size"),
    spread([1, 2, 3], [False, True], [(9, 11), (40, 37)], every=2),
)
def test_dilation(dilation, ceil_mode, size):
    def pooled(x):
        return F.max_pool2d(x, (3, 2), (2, 1), (1, 1), dilation, ceil_mode).exp()

    same(pooled, torch.randn(1, 4, *size))


@pytest.mark.parametrize(
    ("include", "ceil_mode", "divisor"),
    spread([False, True], [False, True], [None, 3, -2], every=2),
)
def test_divisors(include, ceil_mode, divisor):
    def pooled(x):
        return F.avg_pool2d(x, 3, 2, 1, ceil_mode, include, divisor) + 1

    for size in ((6, 7), (5, 5), (33, 30)):
        same(pooled, torch.randn(2, 3, *size))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number(value):
    x = torch.randn(2, 3, 9, 9)
    x[0, 0, 4, 4] = x[1, 2, 0, 0] = x[1, 1, 8, 8] = value
    x[0, 1] = value
    same(lambda x: F.max_pool2d(x, 3, 2, 1), x)
    same(lambda x: F.avg_pool2d(x, 3, 2, 1), x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats(dtype):
    x = (torch.randn(2, 3, 20, 19) * 4).to(dtype)
    for pooled in (
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: F.avg_pool2d(x, 3, 1, 1),
        lambda x: F.adaptive_avg_pool2d(x, (4, 1)),
    ):
        compiled = girih.compile(pooled)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), pooled(x))


@pytest.mark.parametrize(
    "shape", [(4, 8, 16, 16), (1, 3, 5, 7), (2, 1, 9, 1), (3, 5, 1, 6)]
)
def test_channels_last(shape):
    x = torch.randn(shape).to(memory_format=torch.channels_last)
    for pool in (F.max_pool2d, F.avg_pool2d):
        same(lambda x, pool=pool: pool(x.relu(), 3, 1, 1), x)
        same(lambda x, pool=pool: pool(x.relu(), 3, 2, 1) * 2, x)
    same(lambda x: F.adaptive_avg_pool2d(x, 1), x)


def test_adaptive_windows():
    x = torch.randn(2, 6, 12, 8)
    for size in (1, (3, 4), (12, 8), (4, None), (None, 1), (5, 3), (0, 2)):
        same(lambda x, size=size: F.adaptive_avg_pool2d(x.relu(), size), x)


def test_symbolic_sizes():
    calls = [
        (torch.randn(b, 3, h, w),) for b, h, w in ((1, 9, 8), (4, 31, 2), (0, 5, 6))
    ]
    for pooled in (
        lambda x: F.max_pool2d(x.relu(), 3, 2, 1),
        lambda x: F.avg_pool2d(x.relu(), 2, 2),
        lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True),
    ):
        same(pooled, torch.randn(2, 3, 10, 12), calls=calls, dynamic=True)


def test_strides_are_not_the_result_of_a_kernel_s_own_order():
    x = torch.randn(2, 3, 8, 9).transpose(2, 3)
    same(lambda x: F.max_pool2d(x + 1, 3, 1, 1), x)
    same(lambda x: F.avg_pool2d(x[:, 1:], 2), x)
    same(lambda x: F.max_pool2d(x[0], 2), x)


def test_integers_stay_with_the_library():
    x = torch.randint(-9, 9, (1, 2, 6, 6))
    same(lambda x: F.max_pool2d(x, 2), x)


def test_no_call_of_aten_is_left():
    x = torch.randn(2, 3, 8, 8)
    for pooled in (
        lambda x: F.max_pool2d(x.relu(), 3, 2, 1),
        lambda x: F.avg_pool2d(x.relu(), 3, 2, 1, count_include_pad=False),
        lambda x: F.adaptive_avg_pool2d(x.relu(), (2, 4)),
    ):
        assert girih.report(same(pooled, x)).externs == 0


def same_positions(x, *numbers, count=2, externs=0, **given):
    """Compares maxima, their positions and strides with eager's."""
    pool = getattr(F, f"max_pool{count}d")

    def pooled(x):
        return pool(x, *numbers, return_indices=True, **given)

    compiled = girih.compile(pooled, options={"fallback": False})
    with torch.no_grad():
        pairs = [*zip(compiled(x), pooled(x), strict=True)]
    for actual, expected in pairs:
        torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
        assert actual.stride() == expected.stride()
    assert girih.report(compiled).externs == externs


@pytest.mark.parametrize("count", [1, 2, 3])
def test_positions(count):
    x = torch.randint(-3, 3, (2, 3, *(7, 6, 5)[3 - count :])).float()  # with ties
    for number, given in enumerate(geometries(count)):
        for image in extent(((x, x[0])[number % 2],), long=(x, x[0])):
            same_positions(image, count=count, **given)


@pytest.mark.parametrize(
    ("value", "dtype"),
    spread(
        [math.nan, math.inf, -math.inf],
        [torch.float32, torch.float64, torch.bfloat16],
        every=2,
    ),
)
def test_positions_of_what_is_not_a_number(value, dtype):
    x = torch.randn(2, 3, 9, 9).to(dtype)
    x[0, 0, 4, 4] = x[0, 0, 4, 5] = x[1, 2, 0, 0] = x[1, 1, 8, 8] = value
    x[0, 1] = value
    for numbers in ((3, 2, 1), (2,), (3, 1), (5, 3, 2)):
        same_positions(x, *numbers)


@pytest.mark.parametrize("size", [(1, 1), (13, 1), (31, 37), (64, 130)])
def test_positions_by_size(size):
    for shape in ((1, 1), (3, 5)):
        same_positions(torch.randn(*shape, *size), 3, 2, 1)
        same_positions(torch.randn(*shape, *size), (1, 1), (1, 3))
    same_positions(torch.randn(0, 2, *size), 3, 2, 1)


def test_positions_are_the_library_s():
    x = torch.randn(2, 8, 8, 8)
    last = x.to(memory_format=torch.channels_last)
    same_positions(last, 3, 2, 1, externs=1)
    same_positions(x[..., :7].transpose(2, 3), 3, 1, 1, externs=1)
    same_positions(x, 3, 1, 1, 2, externs=1)  # windows may lie outside of x
    same_positions(x, 3, 1, 0, 2)
    same_positions(torch.randint(-9, 9, (1, 2, 6, 6)), 2, externs=1)


def test_positions_in_images_of_symbolic_sizes():
    def pooled(x):
        return F.max_pool2d(x, 2, return_indices=True)

    compiled = girih.compile(pooled, dynamic=True)
    for width in (8, 9, 31):
        x = torch.randn(2, 3, 8, width)
        for actual, expected in zip(compiled(x), pooled(x), strict=True):
            assert torch.equal(actual, expected)


def test_gradients_go_where_eager_s_go():
    def pooled(x):
        return F.max_pool2d(x.relu(), 3, 2, 1)  # relu makes ties

    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(2, 5, 29, 31).to(dtype)
        found = []
        for function in (pooled, girih.compile(pooled, options={"fallback": False})):
            leaf = x.clone().requires_grad_()
            y = function(leaf)
            y.backward(torch.arange(y.numel()).view_as(y).to(dtype))
            found.append(leaf.grad)
        assert torch.equal(*found)


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_derivatives(pool):
    x = torch.randn(2, 3, 8, 7, dtype=torch.float64, requires_grad=True)
    compiled = girih.compile(lambda x: pool(x.tanh(), 3, 2, 1).pow(2))
    assert torch.autograd.gradcheck(compiled, x)
    assert torch.autograd.gradgradcheck(compiled, x)
