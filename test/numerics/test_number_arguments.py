"""Numbers that vary, and are negative, zero, one or too large; against eager.

``make number-arguments`` tries all operators of torch's table. Here are those whose
rules compute places from their numbers.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from extent import IS_LONG, spread
from varied_numbers import (
    ENTRANCES,
    cases,
    compared,
    differences,
    observed,
    operators,
)

import girih
from girih import fallbacks

OPERATORS = operators()
X = torch.linspace(-2, 2, 12).view(3, 4)
NAMES = tuple(OPERATORS) if IS_LONG else ("constant_pad_nd", "narrow", "roll")


@pytest.mark.parametrize(("name", "entrance"), spread(NAMES, ENTRANCES, every=2))
def test_as_in_eager(name, entrance):
    found = []
    for case in cases(name, OPERATORS[name], limit=2 if IS_LONG else 1):
        found += differences(case, entrance)
    assert not found, "\n".join(map(str, found))


def test_the_comparison_finds_a_wrong_number():
    [case] = cases("narrow", OPERATORS["narrow"], limit=1)
    right = case.function(from_sizes=False)

    def wrong(x, dim, start, size):
        return right(x, dim, start + 1, size)

    given = [*case.tensors, 1, 2, 2]
    assert compared(observed(right, given), observed(wrong, given))[0] == "values"


def _gradient(function, up, skip):
    up = up.clone().requires_grad_()
    function(up, skip).sum().backward()
    return up.grad


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("compile", [girih.compile, torch.compile])
def test_gradient_of_a_crop_by_the_difference_of_two_sizes(compile, dynamic):
    def function(up, skip):
        return F.pad(up, (0, skip.shape[-1] - up.shape[-1])) * skip

    options = {} if compile is girih.compile else {"backend": "girih"}
    compiled = compile(function, dynamic=dynamic, **options)
    for size, wanted in ((6, 6), (4, 3), (8, 5), (5, 8)):
        up = torch.randn(2, size, dtype=torch.float64)
        skip = torch.randn(2, wanted, dtype=torch.float64)
        expected = _gradient(function, up, skip)
        torch.testing.assert_close(_gradient(compiled, up, skip), expected)


@pytest.mark.parametrize("dynamic", [None, True])
def test_more_is_cut_off_than_there_is(dynamic):
    def function(x, count):
        return F.pad(x, (count, 3), value=2.0) * 2

    compiled = girih.compile(function, dynamic=dynamic)
    x = torch.arange(12.0).view(2, 6)
    for count in (1, 2, -1, -6):
        assert torch.equal(compiled(x, count), function(x, count))
    for count in (-7, -8):
        with pytest.raises(RuntimeError, match="length must be non-negative"):
            compiled(x, count)


def test_a_symbol_that_stands_in_one_attribute_alone():
    def function(a, b, origin):
        return torch.arange(len(a) - len(origin), len(b) - len(origin), 1)

    compiled = girih.compile(function, dynamic=True, options={"fallback": False})
    for sizes in ((4, 9, 6), (8, 11, 5)):
        given = [torch.empty(size) for size in sizes]
        assert torch.equal(compiled(*given), function(*given))


def test_the_derivative_of_a_symbolic_factor():
    def function(x, y, index, factor):
        return torch.index_add(x, 0, index, y, alpha=factor)

    compiled = girih.compile(function, dynamic=True, options={"fallback": False})
    x, y = torch.randn(5, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    for factor in (2, 5):
        given = x, y, torch.tensor([0, 2]), factor
        expected = torch.autograd.grad(function(*given).square().sum(), (x, y))
        actual = torch.autograd.grad(compiled(*given).square().sum(), (x, y))
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("compile", [girih.compile, torch.compile])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_kernel_that_asks_for_a_size_as_a_number(compile, reduction):
    """The weights' size becomes a constant, and another size another graph."""

    def function(x, target, weight):
        smoothing = {"label_smoothing": 0.1, "reduction": reduction}
        return F.cross_entropy(x, target, weight=weight, **smoothing)

    options = {} if compile is girih.compile else {"backend": "girih"}
    compiled = compile(function, dynamic=True, **options)
    with fallbacks.collected() as told:
        for batch, classes in ((8, 4), (9, 4), (9, 5)):
            x = torch.randn(batch, classes, requires_grad=True)
            given = x, torch.arange(batch) % classes, torch.rand(classes)
            expected, actual = function(*given), compiled(*given)
            torch.testing.assert_close(actual, expected)
            pair = [torch.autograd.grad(y.sum(), x) for y in (actual, expected)]
            torch.testing.assert_close(*pair)
    assert not told


@pytest.mark.parametrize("compile", [girih.compile, torch.compile])
def test_sums_of_as_many_elements_as_a_number_says(compile):
    """Of none, too: how much work a result is tells how many a program makes."""

    def function(x, count, origin):
        number = count.shape[0] - origin.shape[0]
        return x[:number].sum(0), x[:, :number].sum((0, 1))

    options = {} if compile is girih.compile else {"backend": "girih"}
    compiled = compile(function, dynamic=True, **options)
    x, origin = torch.rand(6, 7, 300), torch.empty(5)
    for number in (4, 2, 0, 3):
        given = x, torch.empty(5 + number), origin
        torch.testing.assert_close(compiled(*given), function(*given))


def test_a_gradient_of_what_is_repeated_no_times():
    def function(x, rows, columns):
        return x.repeat((3, rows, columns))

    compiled = torch.compile(function, backend="girih", dynamic=True)
    x = torch.rand(2, 3)
    for counts in ((2, 2), (0, 2), (2, 0)):
        leaf = x.clone().requires_grad_()
        compiled(leaf, *counts).sum().backward()
        assert torch.equal(leaf.grad, torch.full((2, 3), 3.0 * math.prod(counts)))


def _drawn(name, *arguments, **options):
    """Draws by a method, into a tensor whose elements lie by columns."""

    def function(x, low, high):
        given = [number(low, high) for number in arguments]
        return getattr((x * 1).t(), name)(*given, **options) + x.t()

    return function


def _low(low, high):
    return low


def _high(low, high):
    return high


DRAWS = {
    "cauchy_": _drawn("cauchy_", _low, _high),
    "exponential_": _drawn("exponential_", _high),
    "log_normal_": _drawn("log_normal_", _low, _high),
    "normal": lambda x, low, high: torch.normal(float(low), float(high), (4,)),
    "normal of a tensor": lambda x, low, high: torch.normal(float(low), x.abs()),
    "normal_": _drawn("normal_", _low, _high),
    "randint": lambda x, low, high: torch.randint(high - low, (4,)),
    "randint from": lambda x, low, high: torch.randint(low, high, (4,)),
    "randint generator": lambda x, low, high: torch.randint(
        high - low, (4,), generator=None
    ),
    "randint from generator": lambda x, low, high: torch.randint(
        low, high, (4,), generator=None
    ),
    "randint below a size": lambda x, low, high: torch.randint(
        low, x.numel() + high, (), generator=None
    ),
    "randint_like": lambda x, low, high: torch.randint_like(x, high - low),
    "randint_like from": lambda x, low, high: torch.randint_like(x.t(), low, high),
    "randint_like of bytes": lambda x, low, high: torch.randint_like(
        x, low, high, dtype=torch.uint8
    ),
    "random_": _drawn("random_", lambda low, high: high - low, generator=None),
    "random_ from": _drawn("random_", _low, _high),
    "random_ generator": _drawn("random_", _low, _high, generator=None),
    "random_ named": lambda x, low, high: x.clone().random_(
        **{"from": low, "to": high}
    ),
    "random_ to": lambda x, low, high: x.clone().random_(low, to=high),
    "randperm": lambda x, low, high: torch.randperm(high - low, generator=None),
    "uniform_": _drawn("uniform_", _low, _high),
    "uniform_ around": lambda x, low, high: (x * 1).uniform_(-high, high),
}


@pytest.mark.filterwarnings("error::girih.FallbackWarning")
@pytest.mark.parametrize(("name", "dynamic"), spread(DRAWS, [None, True], every=2))
def test_bounds_of_random_numbers(name, dynamic):
    compiled = girih.compile(DRAWS[name], dynamic=dynamic)

    def drawn(function, low, high):
        torch.manual_seed(7)
        return function(X, low, high), torch.get_rng_state()

    for low in range(2, 9):
        bounds = low, 2 * low + 5
        expected, actual = drawn(DRAWS[name], *bounds), drawn(compiled, *bounds)
        torch.testing.assert_close(actual, expected)
        assert actual[0].stride() == expected[0].stride()
    assert len(girih.report(compiled).graphs) == (1 if dynamic else 2)


@pytest.mark.parametrize("bounds", [(5, 5), (9, 3), (-4, 3000), (3, 2**40)])
@pytest.mark.parametrize("name", [name for name in DRAWS if name.startswith("rand")])
def test_bounds_that_eager_refuses(name, bounds):
    def outcome(function):
        torch.manual_seed(7)
        try:
            return function(X, *bounds)
        except RuntimeError as error:
            return str(error).partition("\n")[0]

    if name == "randperm" and bounds[1] > 2**20:
        pytest.skip("takes all memory")
    compiled = girih.compile(DRAWS[name], dynamic=True)
    compiled(X, 2, 9)
    expected, actual = outcome(DRAWS[name]), outcome(compiled)
    if isinstance(expected, str):
        assert actual == expected
    else:
        torch.testing.assert_close(actual, expected)
