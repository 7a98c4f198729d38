"""Numbers of NumPy as operands and arguments: what eager makes of them."""

import collections
import os
import warnings

import numpy
import pytest
import torch
from numpy_numbers import CALLS, DTYPES, NUMBERS, outcome, tensor_of

import girih

_IS_LONG = bool(os.environ.get("GIRIH_TEST_LONG"))
# One of each kind: those that torch takes for a bool, an int, a float, or none of it.
_SHORT = ("bool", "uint8", "float16", "float64", "complex64", "ndarray")
_CHOSEN = [k for k in NUMBERS if _IS_LONG or type(k).__name__ in _SHORT]


@pytest.mark.parametrize("dtype", DTYPES if _IS_LONG else DTYPES[2:3], ids=str)
@pytest.mark.parametrize("number", _CHOSEN, ids=lambda k: f"{k.dtype}{k.ndim}")
def test_a_call_gives_what_eager_gives(number, dtype):
    different = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, about complex numbers
        for name, function in CALLS.items():
            girih.reset()
            expected = outcome(function, tensor_of(dtype), number)
            compiled = girih.compile(function, backend="eager")
            actual = outcome(compiled, tensor_of(dtype), number)
            if actual != expected:
                different[name] = (expected, actual)
    assert not different


@pytest.mark.parametrize("name", ["x * np.bool_(True)", "x == np.int64(1)"])
def test_numbers_made_inside_are_what_eager_takes_them_for(name):
    def product(x):
        return x * numpy.bool_(True)

    def equal(x):
        return x == numpy.int64(1)

    function = product if "*" in name else equal
    for dtype in DTYPES:
        expected = outcome(function, tensor_of(dtype))
        assert outcome(girih.compile(function), tensor_of(dtype)) == expected


def test_numbers_like_pythons_stay_in_the_graph():
    def scaled(x):
        return x / numpy.sqrt(64) + numpy.int32(1) - numpy.float32(0.5)

    x = tensor_of(DTYPES[4])
    compiled = girih.compile(scaled, fullgraph=True)
    assert outcome(compiled, x) == outcome(scaled, x)


class _Count(int):
    pass


@pytest.mark.parametrize("value", [1, 2.0])
def test_numbers_of_a_subclass_are_compared_with_elements(value):
    number = _Count(value)
    for function in (lambda x: x == number, lambda x: number != x):
        x = tensor_of(DTYPES[2])
        assert outcome(girih.compile(function), x) == outcome(function, x)


def _through_dynamo(function):
    torch.compiler.reset()
    return torch.compile(function, backend="girih")


@pytest.mark.parametrize("name", ["add", "full", "returned", "ne", "where", "mul"])
@pytest.mark.parametrize("number", [numpy.bool_(1), numpy.int8(2), numpy.array(2.0)])
def test_what_dynamo_would_promote_in_another_way_runs_eager(name, number):
    x = tensor_of(torch.int64)
    expected = outcome(CALLS[name], x, number)
    with pytest.warns(girih.FallbackWarning, match="NumPy number"):
        assert outcome(_through_dynamo(CALLS[name]), x, number) == expected


def test_numbers_made_inside_stay_in_a_graph_where_dynamo_promotes_alike():
    def scaled(x):
        return x / numpy.sqrt(64)

    with warnings.catch_warnings():
        warnings.simplefilter("error", girih.FallbackWarning)
        for dtype in (torch.float16, torch.float32, torch.float64):
            x = tensor_of(dtype)
            assert outcome(_through_dynamo(scaled), x) == outcome(scaled, x)
    with pytest.warns(girih.FallbackWarning, match="NumPy number"):
        x = tensor_of(torch.int64)
        assert outcome(_through_dynamo(scaled), x) == outcome(scaled, x)


def _losses():
    kept = collections.deque(maxlen=3)

    def append_one(x):
        kept.append(x.sum().item())
        return x + 1, numpy.mean(kept)

    return append_one


def _sum_or_nothing(x):
    try:
        return x + 1, numpy.mean([])
    except RuntimeWarning:
        return x + 1, "caught"


# Makers of programs, and whether eager warns in them.
WARNING = {
    "an empty mean": (lambda: lambda x: (x + 1, numpy.mean([])), True),
    "a caught one": (lambda: _sum_or_nothing, True),
    "a logarithm": (lambda: lambda x: (x + 1, numpy.log(0.0)), True),
    "a quotient": (lambda: lambda x: (x + 1, numpy.float64(1) / numpy.int8(0)), True),
    "a sum": (lambda: lambda x: (x + 1, numpy.int8(100) + numpy.int8(100)), True),
    "a number": (lambda: lambda x: (x + 1, numpy.float32(1e300)), True),
    "a deque": (_losses, False),
    "no warning": (lambda: lambda x: (x + 1, numpy.log(2.0)), False),
}


def _told(function, how):
    x = torch.ones(2)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(how, RuntimeWarning)
        try:
            y, number = function(x)
        except RuntimeWarning as error:
            return repr(error)
    return (
        y.tolist(),
        repr(number),
        [(each.category, str(each.message)) for each in found],
    )


@pytest.mark.parametrize("how", ["always", "error"])
@pytest.mark.parametrize("name", WARNING)
def test_numpy_warns_at_each_call_as_in_eager(name, how):
    make, warns = WARNING[name]
    plain, compiled = make(), girih.compile(make(), backend="eager")
    for _ in range(3):
        expected = _told(plain, how)
        assert _told(compiled, how) == expected
    assert warns == (expected[-1] != [] or "caught" in expected[1])


def test_a_number_that_numpy_is_told_not_to_warn_of_stays_in_the_graph():
    compiled = girih.compile(lambda x: x + numpy.log(0.0), fullgraph=True)
    with numpy.errstate(divide="ignore"):
        assert compiled(torch.ones(2)).tolist() == [-float("inf")] * 2
