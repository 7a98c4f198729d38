"""Reductions and softmax against eager, over all dims."""

from __future__ import annotations

import pytest
import torch
from extent import spread
from samples import check
from tensors import ALL, FLOATS, INTEGERS, LAYOUTS, normal

import girih

NUMBERS = (*FLOATS, *INTEGERS)
SHAPES = ((), (0,), (1,), (7,), (1009,), (3, 0, 5), (64, 129), (5, 1, 33), (4, 5, 6, 7))
LARGE = ((40009,), (300, 211), (2, 17, 1031), (16384, 3), (3, 16411))
DIMS = (None, 0, -1, 1, (0, 1), (0, 2), (-1, -2))

# name: (function of tensor, dims, keepdim; dtypes)
OVER_DIMS = {
    "sum": (torch.sum, ALL),
    "mean": (torch.mean, FLOATS),
    "amax": (torch.amax, NUMBERS),
    "amin": (torch.amin, NUMBERS),
    "var": (torch.var, FLOATS),
    "std": (torch.std, FLOATS),
    "var-uncorrected": (lambda x, d, k: x.var(d, correction=0, keepdim=k), FLOATS),
    "var_mean": (torch.var_mean, FLOATS),
    "logsumexp": (torch.logsumexp, FLOATS),
    "norm": (lambda x, d, k: torch.linalg.vector_norm(x, 2, d, k), FLOATS),
    "norm-1": (lambda x, d, k: torch.linalg.vector_norm(x, 1, d, k), FLOATS),
    "any": (torch.any, ALL),
    "all": (torch.all, ALL),
}
OVER_ONE_DIM = {
    "prod": (torch.prod, NUMBERS),
    "argmax": (torch.argmax, NUMBERS),
    "argmin": (torch.argmin, NUMBERS),
    "max": (lambda x, d, k: tuple(torch.max(x, d, k)), NUMBERS),
    "min": (lambda x, d, k: tuple(torch.min(x, d, k)), NUMBERS),
}
SAME_SHAPE = {
    "softmax": (torch.softmax, FLOATS),
    "log_softmax": (torch.log_softmax, FLOATS),
    "softmin": (torch.nn.functional.softmin, FLOATS),
    "cumsum": (torch.cumsum, NUMBERS),
    "cumprod": (torch.cumprod, NUMBERS),
    "logcumsumexp": (torch.logcumsumexp, FLOATS),
    "cummax": (lambda x, dim: tuple(torch.cummax(x, dim)), NUMBERS),
    "cummin": (lambda x, dim: tuple(torch.cummin(x, dim)), NUMBERS),
}


def of(table):
    return [
        pytest.param(function, dtype, id=f"{name}-{str(dtype)[6:]}")
        for name, (function, dtypes) in table.items()
        for dtype in dtypes
    ]


def bound(function, dim, keepdim):
    return lambda x: function(x, dim, keepdim)


def calls_over_dims(function, dtype, dims):
    """One call for each shape, dims and keepdim, all in one program."""
    shapes = SHAPES if dtype == torch.float32 else SHAPES[3:7]
    every = 1 if dtype == torch.float32 else 2
    for shape, (number, dim) in spread(shapes, enumerate(dims), every=every):
        yield (
            f"{shape} over {dim}",
            (bound(function, dim, number % 2 == 0), normal(shape, dtype, scale=1.0)),
        )


def check_bound(calls):
    check(lambda function, x: function(x), dict(calls), sums=True)


@pytest.mark.parametrize(("function", "dtype"), of(OVER_DIMS))
def test_over_dims(function, dtype):
    check_bound(calls_over_dims(function, dtype, DIMS))


@pytest.mark.parametrize(("function", "dtype"), of(OVER_ONE_DIM))
def test_over_one_dim(function, dtype):
    check_bound(calls_over_dims(function, dtype, (0, -1, 1)))


@pytest.mark.parametrize(("function", "dtype"), of(SAME_SHAPE))
def test_same_shape(function, dtype):
    check_bound(calls_over_dims(lambda x, d, k: function(x, d), dtype, (0, -1, 1)))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "any"])
def test_large(name, dtype):
    function = OVER_DIMS[name][0]
    calls = {
        f"{shape} over {dim}": (
            bound(function, dim, False),
            normal(shape, dtype, scale=1.0),
        )
        for shape in LARGE
        for dim in (None, 0, -1)
    }
    check_bound(calls.items())


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(layout):
    x = layout(normal((37, 5, 19), torch.float32))
    calls = {}
    for name in ("sum", "amax", "var_mean", "all"):
        for dim in DIMS:
            calls[f"{name} over {dim}"] = (bound(OVER_DIMS[name][0], dim, True), x)
    for dim in (0, 1, 2):
        calls[f"softmax over {dim}"] = (bound(lambda x, d, k: x.softmax(d), dim, 0), x)
    check_bound(calls.items())


SPECIAL = {
    "sum": lambda x: x.sum(-1),
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(0),
    "max": lambda x: tuple(x.max(-1)),
    "argmax": lambda x: x.argmax(-1),
    "argmin": lambda x: x.argmin(0),
    "softmax": lambda x: x.softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "any": lambda x: x.any(-1),
}


@pytest.mark.parametrize("function", SPECIAL.values(), ids=SPECIAL)
def test_special_values(function):
    rows = [
        [1.0, float("nan"), 3.0, float("inf")],
        [float("inf")] * 4,
        [-float("inf")] * 4,
        [0.0, -0.0, 0.0, -0.0],
        [float("nan")] * 4,
        [2.0, 5.0, 5.0, 1.0],
    ]
    x = torch.tensor(rows)
    calls = {"small": (x,), "wide": (x.repeat(1, 40),), "long": (x.repeat(90, 1),)}
    check(function, calls)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_sum_is_accurate(dtype):
    x = torch.rand(1 << 20).to(dtype)
    calls = {"rand": (x,)}
    check(lambda x: (x.sum(), x.mean(), x.view(1024, -1).sum(0)), calls, sums=True)


@pytest.mark.parametrize("dim", [0, (0, 2)], ids=str)
def test_sums_of_a_symbolic_number_of_columns_are_accurate(dim):
    """They can't be cut into parts: there may be too many for a workspace."""
    x = torch.rand(300_007, 3, 1) + 1
    compiled = girih.compile(lambda x: x.sum(dim), dynamic=True)
    expected = x.double().sum(dim)
    error = (compiled(x) - expected).abs().max() / expected.max()
    assert error < 4 * torch.finfo(torch.float32).eps


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("dim", [0, -1], ids=str)
def test_extremes_are_found_again(dim, dtype):
    """What is compared with them, and which of equals is the first, is of 16 bits."""

    def found(x):
        y = x * 0.9
        largest, least = y.amax(dim, keepdim=True), y.amin(dim, keepdim=True)
        places = (x + 100).argmax(dim), (x + 100).min(dim).indices
        return y == largest, y <= least, y == y.max(), *places

    shapes = [(2, 3), (50, 40), (4, 3000), (3000, 4), (200_003,)]
    check(found, {shape: (normal(shape, dtype),) for shape in shapes})


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("dim", [0, -1], ids=str)
def test_gradients_of_extremes(dim, dtype):
    @torch.enable_grad()
    def gradient(x):
        x = x.detach().requires_grad_()
        y = x * 0.9
        loss = y.amax(dim).sum() + (x + 100).max(dim).values.sum() + y.min()
        return torch.autograd.grad(loss, x)

    shapes = [(2, 3), (50, 40), (4, 3000), (3000, 4), (20_003,)]
    check(gradient, {shape: (normal(shape, dtype),) for shape in shapes})


EQUAL_ALONG = {
    "rows": lambda x: x.expand(3, -1).sum(1) / 5,
    "columns": lambda x: x[:, None].expand(-1, 5).amax(0).exp() - 1,
    "a dim between": lambda x: x.view(-1, 1, 256).expand(-1, 7, -1).sum((0, 2)) / 3,
    "constants": lambda x: torch.full((3, 65536), 0.5).sum(1) / 5 + x[:3],
    "places": lambda x: x.expand(3, -1).argmax(1) * 2,
    "both extremes": lambda x: x.expand(40, -1).aminmax(dim=1),
    "several rounds": lambda x: x.expand(3, -1).softmax(1).amax(1) * 2,
    "variance": lambda x: x.expand(3, -1).var(1) + 1,
}


@pytest.mark.parametrize("count", [256, 65_536])
@pytest.mark.parametrize("name", EQUAL_ALONG)
def test_results_that_are_equal_along_a_dim(name, count):
    """What is expanded is reduced once, also in parts."""
    check(EQUAL_ALONG[name], {"normal": (normal((count,), torch.float32),)}, sums=True)


def test_sum_in_blocks_inside_another_loop():
    x = torch.rand(70009)
    calls = {"whole": (x,), "every other": (x.repeat(2, 1)[:, ::2],)}

    def sums(x):
        return torch.stack([x, x + 1]).sum(), torch.stack([x, x, -x, x], -1).mean()

    check(sums, calls, sums=True)


def test_dtype_argument():
    x = normal((9, 31), torch.float16)
    i = normal((9, 31), torch.int8)
    calls = {"half": (x, torch.float32), "int": (i, torch.float64)}
    check(lambda x, d: (x.sum(1, dtype=d), x.to(d).mean(), x.prod(0, dtype=d)), calls)


@pytest.mark.parametrize("dim", [0, 1])
def test_a_value_outlives_the_output_that_it_is_kept_in(dim):
    """The first output is written before the second is known, which needs e too."""

    def program(x):
        e = x.tanh().exp()
        first = e / e.sum(dim, keepdim=True)
        return first, e * first.square().sum(dim, keepdim=True)

    check(program, {"rows": (normal((40, 300), torch.float32),)})
