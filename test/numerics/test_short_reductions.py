"""Reductions of two to four elements whose results go on, against eager."""

import pytest
import torch

import girih

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32)


def overlaps(a, b):
    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clamp(min=0).prod(-1)
    area = [(x[:, 2:] - x[:, :2]).prod(-1) for x in (a, b)]
    return common / (area[0][:, None] + area[1] - common)


def nearest(a, b):
    squares = (a[:, None] - b[None]).square().sum(-1)
    return squares.min(1).values, squares.argmin(0), squares.mean()


def check(function, *inputs, rtol=1e-5):
    for dynamic in (False, True):
        compiled = girih.compile(function, dynamic=dynamic)
        expected, found = function(*inputs), compiled(*inputs)
        torch.testing.assert_close(found, expected, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("rows", [(1, 1), (3, 5), (0, 4), (17, 130)])
def test_boxes_and_points(rows):
    a, b = (torch.rand(n, 4).cumsum(1) for n in rows)
    check(overlaps, a, b)
    if 0 not in rows:
        check(nearest, a[:, :3], b[:, :3])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean"])
def test_reduced_again(name, size, dtype):
    x = (torch.randn(7, size, 11) * 4).to(dtype)
    if dtype.is_floating_point:
        x[0, 0, 0], x[1, 1, 1] = float("nan"), float("inf")
    elif name == "mean":
        pytest.skip("integers have no mean")

    def function(x):
        part = getattr(x * 2, "sum" if name == "sum" else name)(1)
        return part.amax(0), part.to(torch.float64).sum(1)

    # Eager rounds products of 16-bit floats at each step.
    rtol, atol = (3e-2, 3e-2) if dtype.itemsize == 2 else (1e-5, 1e-6)
    found, expected = girih.compile(function)(x), function(x)
    for own, wanted in zip(found, expected, strict=True):
        size = wanted.double().nan_to_num(posinf=0, neginf=0).abs().max().item()
        torch.testing.assert_close(
            own, wanted, rtol=rtol, atol=atol * size, equal_nan=True
        )


def test_gradients_of_both_orders():
    points = [torch.randn(5, 3, dtype=torch.float64, requires_grad=True) for _ in "ab"]

    def function(a, b):
        squares = (a[:, None] - b[None]).square().sum(-1)
        return (squares + 1).log().amin(1)

    compiled = girih.compile(function)
    assert torch.autograd.gradcheck(compiled, points)
    assert torch.autograd.gradgradcheck(compiled, points)
