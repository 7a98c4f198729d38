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


def test_sigmoids_where_their_divisor_is_infinite_or_large(device):
    edges = [0.0, 1e-30, 16.0, 87.0, 87.5, 88.7, 88.8, 104.0, 1e4, torch.inf, torch.nan]
    x = torch.cat([torch.tensor(edges), -torch.tensor(edges), torch.randn(1000) * 30])
    actual = girih.compile(torch.sigmoid, options={"fallback": False})(x)
    smallest = 2.0**-149  # what is below float32's normal numbers may round twice
    torch.testing.assert_close(
        actual, torch.sigmoid(x), rtol=3e-7, atol=smallest, equal_nan=True
    )
    assert device.launched
