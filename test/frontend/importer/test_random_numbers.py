"""Numbers of Python's ``random`` in graphs of TorchDynamo, against Python."""

import random
import warnings

import pytest
import torch

PROGRAMS = {
    "a factor": lambda x: x * random.uniform(0.8, 1.2),
    "arithmetic": lambda x: x * (1 + 0.2 * random.uniform(-1, 1)),
    "an integer": lambda x: x * random.randint(1, 5),
    "a divisor": lambda x: x / random.randint(2, 9),
    "a quotient of integers": lambda x: x * (random.randint(1, 5) / 3),
    "a limit": lambda x: x.clamp(max=random.uniform(0, 1)),
    "alpha": lambda x: x.add(x, alpha=random.uniform(1, 2)),
    "a choice": lambda x: torch.where(x > 0, random.uniform(1, 2), x),
    "a slice": lambda x: x[random.randint(0, 2) :],
    "filled": lambda x: torch.full((2,), random.uniform(0, 1)) + x[:2],
    "returned": lambda x: (x * 2, random.uniform(1, 2)),
}
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64]


def drawn(function, x):
    """Results of three seeds, and what comes next from the generator."""
    found = []
    for seed in range(3):
        random.seed(seed)
        found += [function(x), random.random()]
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_numbers(name, dtype):
    torch._dynamo.reset()
    program = PROGRAMS[name]
    if dtype is torch.int64 and name == "alpha":
        pytest.skip("eager refuses a float for alpha")
    x = torch.tensor([1, -2, 3]).to(dtype)
    compiled = torch.compile(program, backend="girih")
    with warnings.catch_warnings():
        # Beside integers alone, a graph is left to Python and that is said.
        warnings.simplefilter("ignore" if dtype is torch.int64 else "error")
        actual = drawn(compiled, x)
    for got, expected in zip(actual, drawn(program, x), strict=True):
        # The graph has a tensor of the number, which is rounded to 16 bits.
        rtol = 1e-2 if dtype is torch.bfloat16 else 0
        torch.testing.assert_close(got, expected, rtol=rtol, atol=0)
