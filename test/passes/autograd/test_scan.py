"""Derivatives of scans, sorting and selecting against torch's."""

import pytest
import torch
from derivatives import check_op


def randn(*shape):
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize(
    ("shape", "dim"), [((3, 5), 1), ((3, 5), 0), ((2, 0), 1), ((1,), 0), ((), 0)]
)
def test_cumsum(shape, dim):
    check_op("cumsum", [randn(*shape)], {"dim": dim})


@pytest.mark.parametrize(
    ("shape", "dim"), [((3, 5), 1), ((3, 5), 0), ((2, 0), 1), ((1,), 0), ((), 0)]
)
def test_cumprod(shape, dim):
    check_op("cumprod", [randn(*shape)], {"dim": dim})


def test_cumprod_of_up_to_three_zeros():
    x = randn(5, 6)
    x[1, 2] = x[2, 0] = x[2, 5] = x[3, 2] = x[3, 3] = 0
    x[4, [0, 2, 4]] = 0
    check_op("cumprod", [x], {"dim": 1})
    check_op("cumprod", [x], {"dim": 0})


@pytest.mark.parametrize(
    ("shape", "dim"), [((3, 5), 1), ((3, 5), 0), ((2, 0), 1), ((1,), 0), ((), 0)]
)
def test_logcumsumexp(shape, dim):
    check_op("logcumsumexp", [randn(*shape)], {"dim": dim})


@pytest.mark.parametrize("name", ["cummax", "cummin", "scan_max", "scan_min"])
@pytest.mark.parametrize(
    ("shape", "dim"), [((3, 5), 1), ((3, 5), 0), ((2, 0), 1), ((1,), 0), ((), 0)]
)
def test_running_extrema(name, shape, dim):
    if not shape and name.startswith("scan"):
        return  # It needs a dim.
    check_op(name, [randn(*shape).round()], {"dim": dim})


@pytest.mark.parametrize(("shape", "dim"), [((3, 5), 1), ((3, 5), 0), ((2, 0), 1)])
@pytest.mark.parametrize("descending", [True, False])
def test_sort(shape, dim, descending):
    attributes = {"dim": dim, "descending": descending, "stable": True}
    check_op("sort", [randn(*shape).round(decimals=0)], attributes)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("k", "dim"), [(2, 1), (3, 0), (0, 1), (5, 1)])
def test_topk(largest, k, dim):
    check_op("topk", [randn(3, 5)], {"k": k, "dim": dim, "largest": largest})
