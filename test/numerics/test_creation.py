"""Creation ops, constants and random numbers against eager."""

from __future__ import annotations

import pytest
import torch
from closeness import assert_like_eager
from samples import check
from tensors import ALL, normal

import girih

CREATION = {
    "zeros": lambda x: torch.zeros(3, 4) + x,
    "ones-like": lambda x: torch.ones_like(x) * x,
    "full": lambda x: torch.full((4,), 2.5) * x,
    "full-int": lambda x: torch.full((4,), 7),
    "full-bool": lambda x: torch.full_like(x, True, dtype=torch.bool),
    "empty-fill": lambda x: torch.empty_like(x).fill_(3),
    "new-zeros": lambda x: x.new_zeros(2, 5),
    "arange": lambda x: torch.arange(4) + x,
    "arange-float": lambda x: torch.arange(0, 1, 0.25) * x,
    "arange-step": lambda x: torch.arange(10, 2, -2) + x,
    "arange-int32": lambda x: torch.arange(4, dtype=torch.int32),
    "linspace": lambda x: torch.linspace(0, 1, 4) * x,
    "eye": lambda x: torch.eye(3, 4) * x,
    "tensor": lambda x: torch.tensor([1.0, 2.0, 3.0, 4.0]) * x,
    "scalar-tensor": lambda x: torch.tensor(2) * x,
    "constant-result": lambda x: torch.zeros(2, 3),
    "empty-result": lambda x: torch.ones(0, 3),
    "causal-mask": lambda x: torch.arange(4)[:, None] >= torch.arange(4),
    "positions": lambda x: torch.arange(4)[None].expand(2, 4) * 2,
}
RANDOM = {
    "rand": lambda x: torch.rand(5, 3) + 1,
    "randn": lambda x: torch.randn(5, 3) * x,
    "rand_like": lambda x: torch.rand_like(x) < 0.5,
    "randint": lambda x: torch.randint(10, (7,)) * 2,
    "randperm": lambda x: torch.randperm(9),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "dropout": lambda x: torch.dropout(x, 0.3, True) * 2,
    "two-in-order": lambda x: torch.rand_like(x) - 2 * torch.rand_like(x),
    "unused": lambda x: (torch.rand(3), torch.rand(3))[1],
    "normal": lambda x: torch.normal(0.0, 2.0, (4,)),
}


@pytest.mark.parametrize("function", CREATION.values(), ids=CREATION)
def test_creation(function):
    check(function, {"x": (normal((3, 4), torch.float32),)})


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_dtypes(dtype):
    def create(x):
        ones = torch.ones(3, dtype=dtype)
        return ones, torch.zeros_like(ones), ones.to(torch.float32) + x

    check(create, {"x": (normal((3,), torch.float32),)})


@pytest.mark.parametrize("function", RANDOM.values(), ids=RANDOM)
def test_random_numbers_are_those_of_eager(function):
    x = normal((5, 3), torch.float32)
    with torch.no_grad():
        compiled = girih.compile(function, options={"fallback": False})
        for seed in (3, 3, 4):
            torch.manual_seed(seed)
            expected = function(x), torch.rand(1)
            torch.manual_seed(seed)
            assert_like_eager((compiled(x), torch.rand(1)), expected)
