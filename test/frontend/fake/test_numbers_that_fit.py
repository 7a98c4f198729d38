"""Numbers that a dtype can't hold are eager's error, written out or given."""

import math

import pytest
import torch
import torch.nn.functional as F
from extent import spread

import girih

DTYPES = (torch.uint8, torch.int16, torch.int64, torch.float16, torch.float32)
NUMBERS = (300, -1, -300, 2**31, 2**63, -(2**63) - 1, -1e9, 1e30, 1e300, math.nan, 2.5)
OPERATIONS = {
    "full": lambda x, n: torch.full((2,), n, dtype=x.dtype) + x,
    "full_like": torch.full_like,
    "new_full": lambda x, n: x.new_full((2,), n),
    "fill": lambda x, n: x.clone().fill_(n),
    "masked_fill": lambda x, n: x.masked_fill(x > 0, n),
    "where": lambda x, n: torch.where(x > 0, x, n),
    "pad": lambda x, n: F.pad(x, (1, 1), value=n),
    "clamp": lambda x, n: x.clamp(max=n),
    "hardtanh": lambda x, n: F.hardtanh(x, -1, n),
    "threshold": lambda x, n: F.threshold(x, 0, n),
    "pow": lambda x, n: x**n,
    "add": lambda x, n: x + n,
    "alpha": lambda x, n: torch.add(x, x, alpha=n),
    "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
    "lerp": lambda x, n: torch.lerp(x, x, n),
}


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def check(compiled, operation, *args):
    expected, actual = outcome(operation, *args), outcome(compiled, *args)
    if isinstance(expected, str) or isinstance(actual, str):
        assert actual == expected, args
    else:
        torch.testing.assert_close(actual, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "dtype"), spread(OPERATIONS, DTYPES, every=3), ids=str
)
def test_a_number_of_the_program(name, dtype):
    operation, x = OPERATIONS[name], torch.ones(2).to(dtype)
    for number in NUMBERS:

        def program(x, number=number):
            return operation(x, number)

        check(girih.compile(lambda x: program(x)), program, x)


@pytest.mark.parametrize(
    ("name", "dtype"),
    spread(["fill", "clamp", "pad", "where", "masked_fill", "full"], DTYPES, every=2),
    ids=str,
)
def test_a_number_that_varies(name, dtype):
    operation, x = OPERATIONS[name], torch.ones(2).to(dtype)
    compiled = girih.compile(operation)
    for number in (1, 2, 3, 0.5, 1.5, 100, 200, *NUMBERS, 70000.5, math.inf, 5):
        check(compiled, operation, x, number)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_thresholds_that_shrink_refuses(dtype, dynamic):
    function = torch.nn.functional.softshrink
    compiled = girih.compile(lambda x, bound: function(x, bound), dynamic=dynamic)
    x = torch.ones(3, dtype=dtype)
    assert torch.equal(compiled(x, 0.5), function(x, 0.5))
    for bound in (-1.0, float("nan"), float("inf"), 1e39):
        with pytest.raises(RuntimeError) as expected:
            function(x, bound)
        with pytest.raises(RuntimeError) as found:
            compiled(x, bound)
        assert str(found.value) == str(expected.value)
