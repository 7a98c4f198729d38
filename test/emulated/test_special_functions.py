"""Special functions on an emulated GPU, against eager."""

import pytest
import torch
from special_functions import SOME

import girih


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_values(device, case, dtype):
    torch.manual_seed(0)
    x = case.points(37, 3, dtype=dtype)
    options = {"fallback": False}
    compiled = girih.compile(lambda x: case(x) * 1, fullgraph=True, options=options)
    expected = case(x.double()).to(dtype)
    torch.testing.assert_close(compiled(x), expected, rtol=1e-4, atol=1e-5)
    assert device.launched
