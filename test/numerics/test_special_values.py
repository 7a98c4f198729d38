"""Special values of each dtype through all functions; the long form: special_values.py.

The sizes fill vectors and leave a part of one.
"""

from __future__ import annotations

import pytest
import torch
from special_values import SUITES, differences

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.int16)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("suite", SUITES)
def test_special_values(suite, dtype):
    table, make = SUITES[suite]
    assert differences(table, make(dtype)) == []


def test_inverse_hyperbolic_functions_of_large_numbers():
    x = torch.tensor([3e38, -3e38, 1e9, 1.0])
    table = {"asinh": torch.asinh, "acosh": torch.acosh}
    assert differences(table, (x,)) == []
    assert differences(table, (x.double() * 1e260,)) == []


def test_deviation_of_float16_whose_variance_is_not_finite():
    x = torch.tensor([[3000.0, -3000.0] * 20], dtype=torch.float16)
    table = {"std": lambda x: x.std(-1), "norm": lambda x: (x / 8).norm(dim=-1)}
    assert differences(table, (x,)) == []
