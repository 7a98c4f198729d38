"""Numbers of NumPy as operands and arguments: what eager makes of them."""

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
