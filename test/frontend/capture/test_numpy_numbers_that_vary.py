"""What NumPy computes of numbers that vary: compiled once, never with a stale value."""

import math
import warnings

import numpy
import pytest
import torch

import girih


def captures(compiled) -> int:
    return compiled.cache_statistics()["captures"]


def check(function, backend, values, expected_captures=None):
    """Calls a function with a tensor and each of the values."""
    compiled, x = girih.compile(function, backend=backend), torch.linspace(1, 2, 6)
    for value in values:
        found, wanted = compiled(x, value), function(x, value)
        assert type(found) is type(wanted)
        pairs = (
            ((found, wanted),)
            if torch.is_tensor(found)
            else zip(found, wanted, strict=True)
        )
        for mine, eagers in pairs:
            if torch.is_tensor(eagers):
                torch.testing.assert_close(mine, eagers, equal_nan=True)
            else:
                assert repr(mine) == repr(eagers)
    if expected_captures is not None:
        assert captures(compiled) == expected_captures


VALUES = (0.3, 0.7, 0.9, 1.7, 2.2, 5.5, 6.5, 7.5)
ODD = (0.3, 0.7, -1.0, 0.0, math.nan, math.inf, 2.5, 1e300, -0.0, 3)

FUNCTIONS = {
    "exp": lambda x, v: x * numpy.exp(v),
    "log": lambda x, v: x + numpy.log(v),
    "sqrt": lambda x, v: x / numpy.sqrt(v),
    "float64": lambda x, v: (x * numpy.float64(v), numpy.float64(v)),
    "arithmetic": lambda x, v: x * (numpy.sqrt(v) * 2 + 1 - v) ** 2,
    "division": lambda x, v: x * (numpy.float64(1.5) / (v - 0.7)),
    "of math": lambda x, v: x * math.exp(-numpy.sqrt(v)),
    "of two": lambda x, v: x * numpy.hypot(v, 3.0) + numpy.maximum(v, 0.1),
    "keyword": lambda x, v: x.clone().add_(x, alpha=numpy.exp(-v)),
    "on the left": lambda x, v: (numpy.sqrt(v) - x, numpy.sqrt(v) * x.to(torch.int32)),
    "returned": lambda x, v: (x + 1, numpy.sqrt(v), float(numpy.sqrt(v))),
    "class": lambda x, v: x * v if type(numpy.sqrt(v)) is float else x - v,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_is_captured_twice(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        check(FUNCTIONS[name], "eager", VALUES, 2)
        check(FUNCTIONS[name], "eager", ODD)


@pytest.mark.parametrize("name", ["float64", "returned", "arithmetic"])
def test_kernels_take_such_numbers(name):
    check(FUNCTIONS[name], "girih", VALUES, 2)


def test_branches_are_guards():
    def branch(x, v):
        return x * 2 if numpy.sqrt(v) > 1.3 else x * numpy.float64(v)

    check(branch, "eager", VALUES, 3)


def test_comparisons_are_numpys():
    check(lambda x, v: (x, numpy.sqrt(v) > 1.3, numpy.isnan(v)), "eager", VALUES)


def test_sizes_that_vary():
    def scaled(x):
        return x / numpy.sqrt(x.shape[0])

    compiled = girih.compile(scaled, backend="eager")
    for size in range(3, 9):
        x = torch.ones(size)
        torch.testing.assert_close(compiled(x), scaled(x))
    assert captures(compiled) == 2


@pytest.mark.parametrize("dtype", ["known", "list", "vmap"])
def test_where_the_class_matters_it_is_kept(dtype):
    functions = {
        "known": lambda x, v: torch.tensor(numpy.sqrt(v)) + x,
        "list": lambda x, v: torch.tensor([numpy.sqrt(v), 1.0])[0] + x,
        "vmap": lambda x, v: torch.vmap(
            lambda row, k: row * 2 if isinstance(k, numpy.float64) else row,
            in_dims=(0, None),
        )(x, numpy.sqrt(v)),
    }
    check(functions[dtype], "eager", VALUES[:4])


def _warned(function, *args) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*args)
    return [f"{w.filename}: {w.message}" for w in found]


def test_warnings_are_given_once_for_each_call():
    def function(x, v):
        return x * numpy.log(v)

    compiled, x = girih.compile(function, backend="eager"), torch.ones(3)
    for value in (0.5, 0.7, -1.0, 0.9, 0.0, -2.0, 0.8):
        assert _warned(compiled, x, value) == _warned(function, x, value)
    with numpy.errstate(all="raise"), pytest.raises(FloatingPointError):
        compiled(x, -3.0)
    with numpy.errstate(all="ignore"):
        assert _warned(compiled, x, -4.0) == []
