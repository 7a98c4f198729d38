"""ATen's overloads, called directly with what their callers in torch never give."""

from __future__ import annotations

import pytest
import torch
from samples import check
from torch import Tensor

import girih

aten = torch.ops.aten
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def compiled_like_eager(function, *arguments):
    check(function, {"call": arguments})


@pytest.mark.parametrize("name", ["sigmoid_backward", "tanh_backward"])
def test_backward_ops_of_mixed_dtypes(name):
    op = getattr(aten, name)
    calls = {
        f"{g} {y}": (torch.randn(5, 7).to(g), torch.rand(5, 7).to(y))
        for g in FLOATS
        for y in FLOATS
    }
    check(lambda g, y: op(g, y), calls)


def test_elu_backward_of_the_result_with_mixed_dtypes():
    g, y = torch.randn(9), torch.randn(9).double()
    compiled_like_eager(lambda g, y: aten.elu_backward(g, 1, 1, 1, True, y), g, y)


@pytest.mark.parametrize("eps", [None, 0.2, 0.7, 1.0])
def test_logit_whose_bounds_change_places(eps):
    compiled_like_eager(lambda x: aten.logit(x, eps), torch.linspace(-1, 2, 20))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_log_sigmoid_gives_what_its_derivative_reads(dtype):
    compiled_like_eager(aten.log_sigmoid_forward, torch.randn(5, 7).to(dtype))


@pytest.mark.parametrize("train", [None, False, True])
def test_native_dropout(train):
    def program(x: Tensor) -> tuple[Tensor, Tensor]:
        return aten.native_dropout(x, 0.5, train)

    x = torch.randn(40)
    torch.manual_seed(0)
    expected = program(x)
    torch.manual_seed(0)
    options = {"fallback": False}
    actual = girih.compile(program, fullgraph=True, options=options)(x)
    assert all(map(torch.equal, actual, expected))


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("train", [None, False, True])
def test_gradient_of_native_dropout(train, share):
    """Eager's for ``train=None`` lacks the factor, which is its own to decide."""
    program = lambda x: aten.native_dropout(x, share, train)[0]  # noqa: E731
    x, found = torch.randn(40, requires_grad=True), []
    for function in (program, girih.compile(program, options={"fallback": False})):
        torch.manual_seed(0)
        found += torch.autograd.grad(function(x).sum(), x)
    assert torch.equal(*found)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("given", "place"),
    [(0, (2, 2)), (0, (9,)), (2, (2,)), (2, (0, 9, 2)), (1, (-1,))],
)
def test_slice_scatter_of_sizes_that_must_be_equal(given, place, dynamic):
    program = lambda x, y: x.slice_scatter(y, 0, *place)  # noqa: E731
    options = {"fallback": False}
    compiled = girih.compile(program, dynamic=dynamic, options=options)
    x, y = torch.randn(4, 5), torch.randn(given, 5)
    found = []
    for function in (program, compiled):
        leaves = x.clone().requires_grad_(), y.clone().requires_grad_()
        result = function(*leaves)
        found.append((result, *torch.autograd.grad(result.square().sum(), leaves)))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(0, 3.1, 1), (1, 5, 1.5), (0.5, 3.5, 1), (0, -3.1, -1), (4, 0.9, -1.7)],
)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32], ids=str)
def test_arange_with_fractions(start, end, step, dtype):
    def program(x: Tensor) -> Tensor:
        return torch.arange(start, end, step, dtype=dtype) + x

    compiled_like_eager(program, torch.zeros((), dtype=dtype))


def test_dtypes_that_eager_refuses():
    x = torch.randn(3, 4)
    calls = {
        "softmax": (lambda x: aten._softmax(x.half(), 1, True), (x,)),
        "backward": (
            lambda g, y: aten._softmax_backward_data(g, y, 1, torch.float16),
            (x, x.softmax(1)),
        ),
    }
    for function, arguments in calls.values():
        with pytest.raises(RuntimeError) as eager:
            function(*arguments)
        with pytest.raises(RuntimeError) as ours:
            girih.compile(function)(*arguments)
        assert str(ours.value).splitlines()[0] == str(eager.value).splitlines()[0]
