"""Ranges that eager refuses: bounds against the sign of the step, and bools."""

import itertools

import pytest
import torch

import girih

BOUNDS, STEPS = (0, 1, 2, 6, -2), (1, 2, -1, -2, -7)


def outcome(function, *given):
    try:
        return function(*given).tolist()
    except (NotImplementedError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
@pytest.mark.parametrize("step", STEPS)
def test_bounds_against_the_sign_of_the_step(step):
    def function(x, start, end):
        return torch.arange(start, end, step) + x

    compiled = girih.compile(function, dynamic=True, options={"recompile_limit": 64})
    for start, end in itertools.product(BOUNDS, BOUNDS):
        given = (torch.ones(1), start, end)
        assert outcome(compiled, *given) == outcome(function, *given), given


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
def test_bools_are_no_range():
    def function(x):
        return torch.arange(3, dtype=torch.bool) & x

    x = torch.ones(1, dtype=torch.bool)
    assert outcome(girih.compile(function), x) == outcome(function, x)
