"""Elementwise ops that are declared on their classes, on an emulated GPU."""

import pytest
import torch
from declared_ops import CASES

import girih


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values(device, case, dtype):
    torch.manual_seed(0)
    function, operands = case.function, case.operands(37, 3, dtype=dtype)
    compiled = girih.compile(
        lambda *x: function(*(each * 1 for each in x)), options={"fallback": False}
    )
    rounding = 1e-4 if dtype == torch.float32 else 2e-2
    expected = function(*operands)
    actual = compiled(*operands)
    torch.testing.assert_close(actual, expected, rtol=rounding, atol=rounding)
    assert device.launched
