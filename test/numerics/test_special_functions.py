"""Special functions in kernels: values against eager's and mpmath's."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
from compiled_gradients import check_gradients
from tensors import LAYOUTS

import girih

mpmath.mp.dps = 40
_ROOT = mpmath.sqrt(2)

# name: (function, from, to, the function with 40 digits, the most ulp)
FUNCTIONS = {
    "entr": (torch.special.entr, 1e-6, 20, lambda x: -x * mpmath.log(x), 2),
    "erfinv": (torch.erfinv, -0.9999, 0.9999, mpmath.erfinv, 4),
    "erfcx": (
        torch.special.erfcx,
        -9,
        20,
        lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
        5,
    ),
    "log_ndtr": (
        torch.special.log_ndtr,
        -15,
        -1,
        lambda x: mpmath.log(mpmath.erfc(-x / _ROOT) / 2),
        6,
    ),
    "i0": (torch.i0, -60, 60, lambda x: mpmath.besseli(0, x), 5),
    "i0e": (
        torch.special.i0e,
        -100,
        100,
        lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
        4,
    ),
    "i1": (torch.special.i1, -60, 60, lambda x: mpmath.besseli(1, x), 8),
    "i1e": (
        torch.special.i1e,
        -100,
        100,
        lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
        8,
    ),
}
SPECIAL = [
    0.0,
    -0.0,
    1,
    -1,
    0.5,
    2,
    -2,
    1e-40,
    1e30,
    -1e30,
    8,
    -8,
    100,
    -100,
    -12,
    3e-8,
]
SPECIAL += [math.inf, -math.inf, math.nan]


def compiled(function):
    return girih.compile(lambda x: function(x) * 1, options={"fallback": False})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_distance_from_the_exact_value(name, dtype):
    function, low, high, exact, most = FUNCTIONS[name]
    x = (low + (high - low) * torch.rand(500, dtype=torch.float64)).to(dtype)
    digits = 24 if dtype == torch.float32 else 53
    for point, value in zip(x.tolist(), compiled(function)(x).tolist(), strict=True):
        wanted = exact(mpmath.mpf(point))
        if wanted != 0:
            ulp = mpmath.mpf(2) ** (
                mpmath.floor(mpmath.log(abs(wanted), 2)) + 1 - digits
            )
            assert abs(value - wanted) <= most * ulp, point


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_eager(name, dtype):
    function = FUNCTIONS[name][0]
    x = torch.tensor(SPECIAL, dtype=dtype)
    actual, expected = compiled(function)(x), function(x)
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=0, equal_nan=True)
    numbers = ~expected.isnan()
    assert torch.equal(actual.signbit()[numbers], expected.signbit()[numbers])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_layouts_and_sizes(name, layout):
    function, low, high = FUNCTIONS[name][:3]
    f = compiled(function)
    for shape in ((37, 19), (1, 1), (0, 3), (127, 33)):
        x = LAYOUTS[layout](low + (high - low) * torch.rand(shape))
        torch.testing.assert_close(f(x), function(x), rtol=2e-5, atol=0)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint8], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_integers_become_floats(name, dtype):
    function = FUNCTIONS[name][0]
    x = torch.tensor([0, 1, 0, 1]).to(dtype)
    torch.testing.assert_close(compiled(function)(x), function(x))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_compute_it(name, tmp_path):
    function = FUNCTIONS[name][0]
    options = {"dump_dir": tmp_path, "fallback": False}
    girih.compile(lambda x: function(x.sin() * 0.5) + 1, options=options)(torch.rand(9))
    (host,) = tmp_path.rglob("*-host.mlir")
    assert "host.extern" not in host.read_text()
    assert host.read_text().count("host.launch") == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    function = FUNCTIONS[name][0]
    x = (0.1 + 0.8 * torch.rand(61, dtype=torch.float64)).requires_grad_()
    check_gradients(function, [x])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_eager_refuses_is_refused(name):
    function = FUNCTIONS[name][0]
    x = torch.rand(4).to(torch.complex64)
    for call in (function, girih.compile(function)):
        with pytest.raises((RuntimeError, NotImplementedError)):
            call(x)
