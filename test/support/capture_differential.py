"""Runs a function plainly and captured, twice each, and compares everything."""

from __future__ import annotations

import copy
import enum

import pytest
import torch

from girih.frontend.capture.api import Settings
from girih.frontend.capture.targets import compile_callable


class Cases:
    """Registers functions with the arguments to call them with.

    Attributes:
        parameters: For ``pytest.mark.parametrize``: function, args, kwargs.
    """

    def __init__(self):
        self.parameters = []

    def __call__(self, *args, **kwargs):
        """A decorator that registers a function."""

        def register(function):
            case = pytest.param(function, args, kwargs, id=function.__name__)
            self.parameters.append(case)
            return function

        return register


def rand(*shape):
    """Normal values, the same at each run."""
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, generator=generator)


def run_graph(gm, example_inputs):
    """A backend that runs the captured graph as it is."""
    return gm.forward


def compile_eagerly(function, *, fullgraph=True, dynamic=None, backend=run_graph):
    """Captures with a backend that runs the graph as it is."""
    return compile_callable(function, Settings(fullgraph, dynamic, backend))


def assert_same(actual, expected):
    """Compares results: types, structure, tensors bit by bit."""
    assert type(actual) is type(expected), (type(actual), type(expected))
    if isinstance(expected, torch.Tensor):
        assert actual.dtype == expected.dtype
        assert actual.requires_grad == expected.requires_grad
        assert actual.stride() == expected.stride()
        assert torch.equal(actual.nan_to_num(), expected.nan_to_num())
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for mine, theirs in zip(actual, expected, strict=True):
            assert_same(mine, theirs)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key in expected:
            assert_same(actual[key], expected[key])
    elif isinstance(expected, enum.Enum):
        assert actual is expected
    elif hasattr(expected, "__dict__") and not callable(expected):
        assert_same(vars(actual), vars(expected))
    elif hasattr(expected, "__slots__"):
        for name in expected.__slots__:
            assert_same(getattr(actual, name), getattr(expected, name))
    elif not callable(expected):
        assert actual == expected or expected != expected


def outcome(function, args, kwargs):
    """What a call returns or raises."""
    try:
        return "returned", function(*args, **kwargs)
    except Exception as error:
        return "raised", error


def outcome_of(call):
    """What a call gives, or what it raises and says; for programs to call."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def check(function, *args, fullgraph=True, calls=2, dynamic=None, **kwargs):
    """Compares a captured function with the plain one.

    Results, exceptions and the mutated arguments have to be the same at each call.

    Returns:
        The compiled function.
    """
    compiled = compile_eagerly(function, fullgraph=fullgraph, dynamic=dynamic)
    for _ in range(calls):
        plain_args, plain_kwargs = copy.deepcopy((args, kwargs))
        our_args, our_kwargs = copy.deepcopy((args, kwargs))
        torch.manual_seed(0)
        how, expected = outcome(function, plain_args, plain_kwargs)
        torch.manual_seed(0)
        our_how, actual = outcome(compiled, our_args, our_kwargs)
        if how == our_how == "raised":
            assert type(actual) is type(expected)
            assert str(actual) == str(expected)
        else:
            assert how == our_how, (expected, actual)
            assert_same(actual, expected)
        assert_same(our_args, plain_args)
        assert_same(our_kwargs, plain_kwargs)
    return compiled
