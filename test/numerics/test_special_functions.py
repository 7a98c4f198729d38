"""Special functions in kernels: values against eager's and mpmath's.

The functions are those of ``SAMPLE`` on the ops' classes: a new one is tested as it is.
"""

from __future__ import annotations

import math

import pytest
import torch
from compiled_gradients import check_gradients
from extent import spread
from special_functions import BOUNDS, CASES, EXACT, FUNCTIONS, IS_LONG, SOME
from tensors import LAYOUTS

import girih

# Functions whose values are compared with eager's without an absolute tolerance, with
# the signs of all numbers. Eager's values of the others are not close near their zeros.
FIRM = {"entr", "erfinv", "erfcx", "log_ndtr", "i0", "i0e", "i1", "i1e"}
DTYPES = [torch.float32, torch.float64]

SPECIAL = [0.0, -0.0, 1, -1, 0.5, 2, -2, 1e-40, 1e30, -1e30, 8, -8, 100, -100, -12]
SPECIAL += [3e-8, math.inf, -math.inf, math.nan]

# Where eager is wrong: it subtracts from 1e30, and does not know the poles.
_POLES = [-1, -2, -8, -12, -100, -1e30]
WRONG = {
    **{f"bessel_{name}": [1e30, -1e30] for name in ("j0", "j1", "y0", "y1")},
    "polygamma": [*_POLES, math.inf, -math.inf],
}


def _named(value):
    return getattr(value, "name", None) or str(value)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("case", CASES, ids=_named)
def test_there_is_an_exact_value(case):
    assert case.cls.SHORT_NAME in EXACT


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=_named)
def test_distance_from_the_exact_value(case, dtype):
    # Values of K take mpmath 10 ms each.
    count = 500 if IS_LONG else 12 if "_k" in case.name else 40
    x = case.points(count, dtype=dtype)
    errors = case.errors(x, case.compiled()(x))
    most = BOUNDS[case.cls.SHORT_NAME]
    assert max(errors) <= most, x[errors.index(max(errors))]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", FUNCTIONS, ids=_named)
def test_special_values_are_those_of_eager(case, dtype):
    wrong = WRONG.get(case.cls.SHORT_NAME, [])
    x = torch.tensor([each for each in SPECIAL if each not in wrong], dtype=dtype)
    actual, expected = case.compiled()(x), case(x)
    atol = 0 if case.name in FIRM else 1e-6
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=atol, equal_nan=True)
    numbers = ~expected.isnan()
    if atol:
        numbers &= (expected == 0) | (expected.abs() > atol)
    assert torch.equal(actual.signbit()[numbers], expected.signbit()[numbers])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_poles_of_polygamma(dtype):
    for case in CASES:
        if case.cls.SHORT_NAME == "polygamma":
            sign = -1 if case.attributes["n"] % 2 == 0 else 1
            poles = torch.tensor([*_POLES, 0.0], dtype=dtype)
            assert (case.compiled()(poles) == sign * math.inf).all()
            edges = torch.tensor([math.inf, -math.inf], dtype=dtype)
            largest, smallest = case.compiled()(edges).tolist()
            assert largest == 0 and math.isnan(smallest)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"])
def test_bessel_functions_of_large_operands(name, dtype):
    (case,) = (each for each in CASES if each.name == name)
    x = torch.tensor([1e3, 1e5, 3e7, 1e12, 1e30], dtype=dtype)
    wanted = [float(case.exact(point)) for point in x.tolist()]
    exact = torch.tensor(wanted, dtype=torch.float64)
    scale = x.double().rsqrt()
    close = 16 * torch.finfo(dtype).eps
    assert ((case.compiled()(x) - exact).abs() <= close * scale).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["lgamma", "digamma", "polygamma-1", "polygamma-2"])
def test_gamma_functions_of_negative_operands(name, dtype):
    (case,) = (each for each in CASES if each.name == name)
    x = torch.tensor([-1e-6, -0.2, -0.3, -0.5, -1.3, -7.7, -30.4], dtype=dtype)
    assert max(case.errors(x, case.compiled()(x))) <= 3


# name: operands, and the most ulp. Far above 0, log_ndtr multiplies the rounding of
# x / sqrt(2) by x**2, as eager's does.
_LOG_NDTR = [-1e4, -300, -37, -14, -5, -1.0001, -0.9999, 1e-3, 0.7, 2.5, 5]
_NDTRI = [1e-30, 1e-12, 1e-5, 0.1249, 0.1251, 0.4999, 0.8749, 0.8751, 0.9999]
TAILS = [("log_ndtr", _LOG_NDTR, 6), ("log_ndtr", [8], 32), ("ndtri", _NDTRI, 6)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "points", "most"), TAILS)
def test_tails_of_the_normal_distribution(name, points, most, dtype):
    (case,) = (each for each in CASES if each.name == name)
    x = torch.tensor(points, dtype=dtype)
    assert max(case.errors(x, case.compiled()(x))) <= most


@pytest.mark.parametrize(("case", "layout"), spread(SOME, LAYOUTS, every=3), ids=_named)
def test_layouts_and_sizes(case, layout):
    f = case.compiled()
    close = {"rtol": 2e-5, "atol": 0}
    if case.name not in FIRM:
        close = {"rtol": 2e-4, "atol": 2e-5}
    for shape in ((37, 19), (1, 1), (0, 3), (127, 33)):
        x = LAYOUTS[layout](case.points(*shape, dtype=torch.float32))
        torch.testing.assert_close(f(x), case(x), **close)


@pytest.mark.parametrize(
    ("case", "dtype"),
    spread(SOME, [torch.int64, torch.bool, torch.uint8], every=2),
    ids=_named,
)
def test_integers_become_floats(case, dtype):
    x = torch.tensor([0, 1, 0, 1]).to(dtype)
    torch.testing.assert_close(case.compiled()(x), case(x), equal_nan=True)


@pytest.mark.parametrize("case", SOME, ids=_named)
def test_kernels_compute_it(case, tmp_path):
    options = {"dump_dir": tmp_path, "fallback": False}
    f = girih.compile(lambda x: case(x.sin() * 0.5) + 1, options=options)
    f(torch.rand(9))
    (host,) = tmp_path.rglob("*-host.mlir")
    assert "host.extern" not in host.read_text()
    assert host.read_text().count("host.launch") == 1


@pytest.mark.parametrize("case", SOME, ids=_named)
def test_gradients(case):
    x = (0.1 + 0.8 * torch.rand(61, dtype=torch.float64)).requires_grad_()
    check_gradients(lambda x: case(x) * x, [x])


@pytest.mark.parametrize("case", SOME, ids=_named)
def test_results_need_a_gradient_as_eagers(case):
    x = torch.rand(4, requires_grad=True)
    assert girih.compile(case)(x).requires_grad == case(x).requires_grad


@pytest.mark.parametrize("case", SOME, ids=_named)
def test_complex_numbers_are_left_to_eager(case):
    x = torch.rand(4).to(torch.complex64)
    if case.name == "sinc":
        torch.testing.assert_close(girih.compile(case)(x), case(x))
        return
    for call in (case, girih.compile(case)):
        with pytest.raises((RuntimeError, NotImplementedError)):
            call(x)


def test_multivariate_gamma():
    for p in (1, 2, 5):
        x = (5 + 9 * torch.rand(31, dtype=torch.float64)).requires_grad_()
        check_gradients(lambda x, p=p: torch.special.multigammaln(x, p), [x])
