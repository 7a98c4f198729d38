"""Results that repeat their elements: of strides 0, as small in memory as in eager."""

import pytest
import torch

import girih

RESULTS = {
    "one_number": lambda x: torch.zeros(1, device=x.device).expand(9),
    "two_numbers": lambda x: torch.ones(1, device=x.device).expand(2),
    "many_numbers": lambda x: torch.ones(1, device=x.device).expand(300),
    "row": lambda x: torch.full((1, 3), 2.0, device=x.device).expand(5, 3),
    "column": lambda x: torch.full((3, 1), 2.0, device=x.device).expand(3, 40),
    "middle": lambda x: torch.ones(2, 1, 3, device=x.device).expand(2, 7, 3),
    "outer_and_inner": lambda x: torch.ones(1, 3, 1, device=x.device).expand(20, 3, 4),
    "new_dims": lambda x: torch.ones((), device=x.device).expand(6, 1, 5),
    "half_floats": lambda x: x.new_ones(1, dtype=torch.float16).expand(70),
    "bytes": lambda x: x.new_ones(1, dtype=torch.uint8).expand(70),
    "truths": lambda x: x.new_ones(1, dtype=torch.bool).expand(70),
    "integers": lambda x: x.new_ones(1, dtype=torch.int64).expand(17),
    "doubles": lambda x: x.new_ones(1, dtype=torch.float64).expand(17),
    "complex": lambda x: x.new_ones(1, dtype=torch.complex64).expand(17),
    "size_of_an_argument": lambda x: x.new_zeros(1).expand(x.shape[0]),
    "rows_of_an_argument": lambda x: x.new_zeros(1, x.shape[0]).expand(x.shape[1], -1),
    "size_as_number": lambda x: x.new_full((1,), x.shape[0]).expand(x.shape[0]),
    "computed_size": lambda x: x.new_zeros(1).expand(x.numel() + 1),
    "quotient_of_a_size": lambda x: x.new_zeros(1).expand(x.shape[0] // 2),
    "rest_of_a_size": lambda x: x.new_ones(1, 3).expand(x.shape[1] - 2, 3),
    "quotients": lambda x: x.new_ones(1, 3, 1).expand(
        x.shape[0] // 2, 3, x.shape[1] - 2
    ),
    "sums_of_a_quotient": lambda x: (x @ x.t()).sum(0).expand(x.shape[1] // 2, -1),
    "rows": lambda x: (x + 1)[None].expand(4, -1, -1),
    "columns": lambda x: (x + 1)[..., None].expand(-1, -1, 9),
    "transposed": lambda x: (x + 1).t()[:, None].expand(-1, 4, -1),
    "sum": lambda x: x.sum().expand(4, 3),
    "sums": lambda x: x.sum(0, keepdim=True).expand(x.shape[0] * 2, -1),
    "product": lambda x: (x @ x.t())[:, None].expand(-1, 3, -1),
    "twice": lambda x: ((x + 1)[None].expand(3, -1, -1), x + 1),
    "two_of_one": lambda x: (x.new_ones(1).expand(3), x.new_ones(1).expand(4)),
    "also_read": lambda x: (lambda y: (y.expand(5, 3), y * x[0, 0]))(x.new_ones(1, 3)),
    "dims_of_size_1": lambda x: x.new_zeros(1).expand(1, 1, 2),
    "gradient": lambda x: torch.autograd.grad(x.sum(), x)[0],
}


def described(x):
    """All that is promised; strides of dims of size 1 are those of fake tensors."""
    strides = [s for size, s in zip(x.shape, x.stride(), strict=True) if size != 1]
    return x.dtype, x.shape, strides, x.untyped_storage().nbytes()


def check(function, x, dynamic):
    compiled = girih.compile(function, dynamic=dynamic, options={"fallback": False})
    expected, actual = function(x), compiled(x)
    if isinstance(expected, torch.Tensor):
        expected, actual = (expected,), (actual,)
    for here, there in zip(actual, expected, strict=True):
        assert described(here) == described(there)
        torch.testing.assert_close(here, there)
    return compiled


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", RESULTS)
def test_like_eager(name, dynamic):
    x = torch.randn(4, 5, requires_grad=name == "gradient")
    check(RESULTS[name], x, dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
def test_index_along_one_element(dynamic):
    check(lambda x: x.argmax(0).expand(2, -1), torch.ones(1, 1), dynamic)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.new_zeros(1).expand(0),
        lambda x: x.new_zeros(1, 3).expand(0, 3),
        lambda x: x.new_zeros(0, 1).expand(0, 3),
        lambda x: (x + 1).expand(0, -1, -1),
    ],
)
def test_nothing(function):
    x = torch.randn(4, 5)
    compiled = girih.compile(function, options={"fallback": False})
    assert compiled(x).shape == function(x).shape


@pytest.mark.parametrize(
    "function",
    [
        RESULTS["size_of_an_argument"],
        RESULTS["quotients"],
        lambda x: x.new_ones(1, 3).expand(x.shape[0] // 4, 3),
        lambda x: (x @ x.t()).sum(0).expand(x.shape[0] // 4, -1),
    ],
)
def test_one_compilation_serves_all_sizes(function):
    compiled = check(function, torch.randn(40, 5), True)
    for size in (8, 9, 100, 3):
        x = torch.randn(size, 5)
        if function(x).numel():
            assert described(compiled(x)) == described(function(x))
        torch.testing.assert_close(compiled(x), function(x))
    assert len(girih.report(compiled).graphs) <= 2
