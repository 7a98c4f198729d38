"""Scans of compiled functions: kernels, with what is around them, or calls."""

import pytest
import torch
from emulated_device import RecordingDevice, emulated_device
from extent import extent, spread

import girih
from girih.codegen.gpu.compile import compile_kernels
from girih.codegen.gpu.target import parse_target


@pytest.fixture(params=["cpu", "gpu"])
def target(request):
    """The processor, or an emulated device."""
    if request.param == "cpu":
        yield request.param
    else:
        with emulated_device():
            yield request.param


def checked(f, *args, dynamic=False):
    """Compares a compiled function with eager; gives its launches and calls."""
    options = {"fallback": False}
    compiled = girih.compile(f, fullgraph=True, dynamic=dynamic, options=options)
    got, expected = compiled(*args), f(*args)
    assert (got.dtype, got.stride()) == (expected.dtype, expected.stride())
    is_narrow = got.dtype in (torch.float16, torch.bfloat16)
    tolerance = {"rtol": 2e-2, "atol": 5e-2} if is_narrow else {}
    if got.dtype == torch.float32:
        tolerance = {"rtol": 1e-5, "atol": 1e-4}
    torch.testing.assert_close(got, expected, equal_nan=True, **tolerance)
    report = girih.report(compiled)
    return report.launches, report.externs


def in_turn(place, *values):
    """All values in the long form, else the one whose turn it is."""
    return extent((values[place % len(values)],), long=values)


DTYPES = [torch.float32, torch.bfloat16, torch.int32, torch.bool, torch.uint8]
SCANS = ["cumsum", "cumprod"]


@pytest.mark.parametrize(
    ("name", "dtype", "dim", "dynamic"),
    spread(SCANS, DTYPES, [0, 1, -1], [False, True], every=3),
)
def test_one_launch_with_what_is_around(target, name, dtype, dim, dynamic):
    torch.manual_seed(0)
    x = (torch.randn(20, 9, 30) * 3).to(dtype)

    def f(x):
        if dtype == torch.bool:
            x = ~x
        else:  # Products would show by how much eager rounds each x * x to 16 bits.
            x = x * x if name == "cumsum" else -x
        return getattr(x, name)(dim) * 2 + 1

    for given in in_turn(dim, x, x.transpose(0, 2)):
        assert checked(f, given, dynamic=dynamic) == (1, 0)


def test_what_is_expanded_and_what_is_of_another_dtype(target):
    x = torch.randn(1, 40).expand(12, 40)
    assert checked(lambda x: x.cumsum(0), x) == (1, 0)
    assert checked(lambda x: x.cumsum(1, dtype=torch.float64), x) == (1, 0)
    assert checked(lambda x: torch.ones_like(x).cumsum(0) + x, x) == (1, 0)


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5,), ()])
def test_small_shapes(target, name, shape):
    x = torch.randn(shape)
    for dim in range(max(x.dim(), 1)):
        checked(lambda x, dim=dim: getattr(x, name)(dim) + 1, x)


@pytest.mark.parametrize("name", SCANS)
def test_few_long_scans_are_calls(target, name):
    def scan(x):
        return getattr(x, name)(0)

    assert checked(scan, torch.randn(100_000)) == (0, 1)
    assert checked(scan, torch.randn(1000)) == (1, 0)


def test_products_of_what_is_no_number_and_of_zeros(target):
    x = torch.randn(6, 90)
    x[0, 40], x[1, 30], x[2, 20] = float("nan"), float("inf"), 0.0
    x[3, [3, 50]], x[4, 5] = 0.0, -float("inf")
    x[4, 60] = 0.0
    for dim in (0, 1):
        assert checked(lambda x, dim=dim: x.cumprod(dim), x) == (1, 0)


@pytest.mark.parametrize("dtype", [torch.float16, *DTYPES[:2], torch.float64])
@pytest.mark.parametrize("dynamic", [False, True])
def test_logarithms_of_running_sums(target, dtype, dynamic):
    torch.manual_seed(0)
    x = (torch.randn(20, 9, 30) * 3).to(dtype)
    x[3, 4, [5, 20]], x[7, :, 8] = float("nan"), float("inf")
    x[:3, 0], x[5, 5, 5:], x[9, 0, 0] = -float("inf"), -float("inf"), -1e4
    for dim in range(3):

        def f(x, dim=dim):
            return (-x).logcumsumexp(dim) / 2

        for given in in_turn(dim + dynamic, x, x.transpose(0, 2)):
            assert checked(f, given, dynamic=dynamic) == (1, 0)


def test_logarithms_of_running_sums_of_other_shapes(target):
    for shape in [(0, 3), (3, 0), (1, 1), (5,), (), (2, 5003)]:
        x = torch.randn(shape)
        for dim in range(max(x.dim(), 1)):
            checked(lambda x, dim=dim: x.logcumsumexp(dim), x)
    assert checked(lambda x: x.logcumsumexp(0), torch.randn(100_000)) == (0, 1)


def test_derivatives_of_logarithms_of_running_sums(target):
    def f(x):
        return x.logcumsumexp(1) + x.logcumsumexp(0).sin()

    compiled = girih.compile(f, fullgraph=True, options={"fallback": False})
    x = torch.linspace(-3, 3, 15, dtype=torch.float64).reshape(3, 5).sin()
    x.requires_grad_()
    assert torch.autograd.gradcheck(compiled, x)
    assert torch.autograd.gradgradcheck(compiled, x)


def test_gradients_of_one_sign_have_derivatives(target):
    def second(f):
        x = torch.linspace(-3, 3, 15, dtype=torch.float64).reshape(3, 5)
        x.requires_grad_()
        (first,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        return torch.autograd.grad(first.pow(2).sum(), x)[0]

    compiled = girih.compile(lambda x: x.logcumsumexp(1), fullgraph=True)
    got = second(compiled)
    assert got.isfinite().all()
    torch.testing.assert_close(got, second(lambda x: x.logcumsumexp(1)))


EXTREMA = ["cummax", "cummin"]


def assert_equal(f, x, dynamic=False):
    """Compares every result with eager's, bit by bit but for the signs of zeros."""
    options = {"fallback": False}
    compiled = girih.compile(f, fullgraph=True, dynamic=dynamic, options=options)
    for got, expected in zip(compiled(x), f(x), strict=True):
        assert (got.dtype, got.stride()) == (expected.dtype, expected.stride())
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
    report = girih.report(compiled)
    return report.launches, report.externs


ALL_DTYPES = [*DTYPES, torch.float16, torch.float64, torch.int8, torch.int64]


@pytest.mark.parametrize(
    ("name", "dtype", "dynamic"), spread(EXTREMA, ALL_DTYPES, [False, True], every=3)
)
def test_running_extrema_and_their_places(target, name, dtype, dynamic):
    torch.manual_seed(0)
    x = (torch.randn(20, 9, 31) * 3).round().to(dtype)
    if dtype.is_floating_point:
        x[3, 4, [5, 20]], x[7, :, 8] = float("nan"), float("inf")
        x[:3, 0], x[5, 5, 5:] = -float("inf"), float("-inf")
    for dim in range(3):

        def f(x, dim=dim):
            values, places = getattr(x * 2 if dtype != torch.bool else ~x, name)(dim)
            return values, places + 1

        for given in in_turn(dim + dynamic, x, x.transpose(0, 2)):
            assert assert_equal(f, given, dynamic) == (1, 0)


@pytest.mark.parametrize("name", EXTREMA)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5,), (), (2, 5003)])
def test_running_extrema_of_other_shapes(target, name, shape):
    x = torch.randn(shape).mul(4).round()
    for dim in range(max(x.dim(), 1)):
        assert_equal(lambda x, dim=dim: getattr(x, name)(dim), x)


@pytest.mark.parametrize("name", EXTREMA)
def test_few_long_running_extrema_are_calls(target, name):
    def f(x):
        return getattr(torch, name)(x, 0)

    assert assert_equal(f, torch.randn(100_000)) == (0, 1)
    assert assert_equal(f, torch.randn(1000)) == (1, 0)
    assert assert_equal(lambda x: f(x).values[None], torch.randn(1000)) == (1, 0)


def test_places_of_numbers_that_are_not_asked_for_cost_nothing(target):
    x = torch.randn(30, 40)
    assert checked(lambda x: x.exp().cummax(1).values - x, x) == (1, 0)
    assert checked(lambda x: x.cummax(1).indices.sum(0), x) == (2, 0)


def test_derivatives_of_running_extrema(target):
    def f(x):
        return x.cummax(1).values ** 3 * x.sin().cummin(0).values

    def derivatives(f):
        x = torch.linspace(-3, 3, 15, dtype=torch.float64).reshape(3, 5).sin()
        x[1, 2] = x[1, 4] = x[0, 2]  # Equal elements: the last one takes it all.
        x.requires_grad_()
        (first,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.pow(2).sum(), x)
        return first, second

    compiled = girih.compile(f, fullgraph=True, options={"fallback": False})
    for got, expected in zip(derivatives(compiled), derivatives(f), strict=True):
        torch.testing.assert_close(got, expected)
    x = (torch.arange(15.0, dtype=torch.float64) * 7 % 15).reshape(3, 5) / 4 - 2
    x.requires_grad_()
    assert torch.autograd.gradcheck(compiled, x)
    assert torch.autograd.gradgradcheck(compiled, x)


def test_sums_in_the_place_of_their_operand(target):
    def f(x):
        x.cumsum_(1)
        return x.mul_(2)

    x = torch.randn(30, 40)
    compiled, expected = girih.compile(f, options={"fallback": False}), x.clone()
    f(expected)
    compiled(x)
    torch.testing.assert_close(x, expected)


def test_derivatives_of_any_order(target):
    def f(x):
        products = x.cumprod(0) + x.cumprod(1)
        return (x.sin().cumsum(1) ** 3).cumsum(0) / 9 + products

    def derivatives(f):
        x = torch.linspace(-1, 1, 15, dtype=torch.float64).reshape(3, 5)
        x[1, 2] = x[1, 4] = x[0, 2] = 0
        x.requires_grad_()
        (first,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.pow(2).sum(), x)
        return first, second

    compiled = girih.compile(f, fullgraph=True, options={"fallback": False})
    for got, expected in zip(derivatives(compiled), derivatives(f), strict=True):
        torch.testing.assert_close(got, expected)


def test_triton_compiles_scans():
    pytest.importorskip("triton", reason="Triton compiles the kernels")
    with emulated_device(RecordingDevice) as device:
        shapes = ((64, 1000), (64, 5001), (33, 8))
        dtypes = (torch.float32, torch.bfloat16, torch.int64)
        for shape, dtype in spread(shapes, dtypes, every=3):
            x = torch.ones(shape, dtype=dtype)
            girih.compile(lambda x: (x + 1).cumsum(0))(x)
            girih.compile(lambda x: (x + 1).cumsum(1))(x)
            if dtype.is_floating_point:
                girih.compile(lambda x: (x + 1).logcumsumexp(0))(x)
                girih.compile(lambda x: (x + 1).logcumsumexp(1))(x)
            girih.compile(lambda x: (x + 1).cummax(0))(x)
            girih.compile(lambda x: (x + 1).cummin(1))(x)
    texts = [kernel.text for kernel in device.kernels]
    assert texts and all("tt.scan" in text for text in texts)
    binaries = compile_kernels(device.kernels, parse_target("sm_90"))
    assert all(binary.data for binary in binaries)
