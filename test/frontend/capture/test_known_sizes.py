"""Transforms that can't be evaluated with symbolic sizes: sizes are guarded instead."""

import pytest
import torch
from torch.nn import functional as F

import girih

NEVER_EAGER = pytest.mark.filterwarnings("error::girih.FallbackWarning")


def curvature(x, y):
    """torch's derivative of the loss asks a fake tensor where it begins."""
    loss = lambda w: F.binary_cross_entropy_with_logits(x @ w, y)  # noqa: E731
    return torch.func.hessian(loss)(torch.ones(x.size(1)))


def dropped(x):
    drop = torch.vmap(lambda row: F.dropout(row, 0.5), randomness="different")
    return drop(x) * x.sum()


def pulled(x, y):
    """The same derivative, of a function that vjp returns."""
    loss = lambda w: F.binary_cross_entropy_with_logits(x @ w, y)  # noqa: E731
    value, pull = torch.func.vjp(torch.func.grad(loss), torch.ones(x.size(1)))
    return value, pull(value)


def given(rows, columns):
    return torch.randn(rows, columns), torch.rand(rows)


@NEVER_EAGER
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [curvature, pulled])
def test_derivatives_at_several_sizes(function, dynamic):
    compiled = girih.compile(function, dynamic=dynamic)
    for sizes in ((4, 3), (5, 2), (4, 3), (6, 3)):
        arguments = given(*sizes)
        torch.testing.assert_close(compiled(*arguments), function(*arguments))


@NEVER_EAGER
def test_random_numbers_at_several_sizes():
    compiled = girih.compile(dropped, dynamic=True)
    for count in (3, 5):
        x = torch.ones(count, 4)
        torch.manual_seed(0)
        expected = dropped(x)
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(x), expected)


def test_other_sizes_stay_symbolic():
    def function(x, y, other):
        return curvature(x, y), other.sin() * other.size(0)

    compiled = girih.compile(function)
    compiled(*given(4, 3), torch.ones(4, 7))
    compiled(*given(5, 2), torch.ones(5, 8))
    before = girih.counters()["captures"]
    compiled(*given(5, 2), torch.ones(5, 9))
    assert girih.counters()["captures"] == before


def test_marked_sizes_stay_symbolic():
    x, y = given(4, 3)
    torch._dynamo.mark_dynamic(x, 0)
    with pytest.warns(girih.FallbackWarning, match="hessian|transform"):
        found = girih.compile(curvature)(x, y)
    torch.testing.assert_close(found, curvature(x, y))


def test_what_fails_with_sizes_too_is_a_break():
    def function(x):
        kept = torch.func.grad(lambda x: x[x > 0].sum())(x)
        return kept * 2

    compiled = girih.compile(function, dynamic=True)
    with pytest.warns(girih.FallbackWarning):
        for count in (3, 4):
            x = torch.linspace(-1, 1, count)
            torch.testing.assert_close(compiled(x), function(x))


def test_many_sizes_end_in_a_break():
    def function(x, y):
        return curvature(x, y) * x.sum()

    compiled = girih.compile(function)
    with pytest.warns(girih.FallbackWarning) as caught:
        for count in range(3, 15):
            arguments = given(count, 3)
            torch.testing.assert_close(compiled(*arguments), function(*arguments))
    assert all("torch.func transform" in str(warned.message) for warned in caught)
    assert girih.report(compiled).graphs
