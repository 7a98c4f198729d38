"""Reductions along columns whose accumulators lie in memory, against PyTorch."""

import pytest
import torch
from tensors import normal
from tile_kernels import DTYPES, TILE, CompiledKernel, build_kernel

SMALL_CACHE = TILE.replace("}", " l2-bytes=1024}")
SHAPES = (
    ((9, 300), (0,)),
    ((2, 4000), (0,)),
    ((17, 257), (0,)),
    ((40, 2500), (0,)),
    ((1100, 260), (0,)),
    ((3000, 300), (0,)),
    ((20, 9000), (0,)),
    ((3, 5, 7, 300), (0, 1, 2)),
    ((70, 2, 9, 300), (0, 1, 2)),
    ((6, 50, 300), (1,)),
    ((2, 60, 3, 300), (1, 2)),
)


def run(build, element, x, dims, outputs):
    module = build_kernel(
        [(x.shape, element, x.stride())], x.shape, build, reduced=dims
    )
    kernel = CompiledKernel(module, SMALL_CACHE)
    assert kernel([x, *outputs]) == 0
    return kernel.schedule


def empty_result(x, dims):
    shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
    return torch.full(shape, 77).to(x.dtype)


@pytest.mark.parametrize("element", ["f32", "f64", "bf16", "i32", "i8"])
@pytest.mark.parametrize("shape, dims", SHAPES)
def test_sum(shape, dims, element):
    x = normal(shape, DTYPES[element])
    output = empty_result(x, dims)
    schedule = run(
        lambda build, t: [build("reduce_sum", t, dims=list(dims))],
        *(element, x, dims, [output]),
    )
    assert "at a time" in schedule
    if not x.is_floating_point():
        assert torch.equal(output, x.long().sum(dims, keepdim=True).to(x.dtype))
        return
    expected = x.double().sum(dims, keepdim=True)
    size = x.double().abs().sum(dims, keepdim=True)
    unit = torch.finfo(x.dtype).eps
    least = torch.finfo(torch.float32).eps if element == "bf16" else unit
    # Sums of sums: rounded some ten times each, where one after the other thousands.
    bound = expected.abs() * unit + size * least * 4
    assert bool(((output.double() - expected).abs() <= bound).all())


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_any"])
@pytest.mark.parametrize(
    "shape, dims", [((17, 257), (0,)), ((70, 2, 9, 300), (0, 1, 2))]
)
def test_other_reductions(name, shape, dims):
    x = normal(shape, torch.float32)
    x.view(-1)[5] = float("nan")
    element = "f32"
    functions = {"reduce_max": torch.amax, "reduce_min": torch.amin}
    if name == "reduce_any":
        x, element = x > 2, "i1"
        output = empty_result(x, dims)
        expected = x.sum(dims, keepdim=True) > 0
    else:
        output = empty_result(x, dims)
        expected = functions[name](x, dims, keepdim=True)
    run(lambda b, t: [b(name, t, dims=list(dims))], element, x, dims, [output])
    torch.testing.assert_close(output, expected, rtol=0, atol=0, equal_nan=True)


def test_two_reductions_and_what_follows():
    """Both have accumulators; results are computed of them."""
    x = normal((50, 700), torch.float32)
    outputs = [empty_result(x, (0,)) for _ in range(2)]

    def build(build, t):
        total = build("reduce_sum", t, dims=[0])
        squares = build("reduce_sum", build("mul", t, t), dims=[0])
        return [build("add", total, squares), squares]

    assert "at a time" in run(build, "f32", x, (0,), outputs)
    squares = (x.double() ** 2).sum(0, keepdim=True)
    torch.testing.assert_close(outputs[1].double(), squares, rtol=1e-6, atol=0)
    expected = squares + x.double().sum(0, keepdim=True)
    torch.testing.assert_close(outputs[0].double(), expected, rtol=1e-5, atol=1e-5)


def test_long_sums_are_as_accurate_as_short_ones():
    """One after the other, 20,000 additions of 0.1 are off by 1e-4 of the result."""
    x = torch.full((20000, 300), 0.1)
    output = empty_result(x, (0,))
    run(lambda b, t: [b("reduce_sum", t, dims=[0])], "f32", x, (0,), [output])
    expected = x.double().sum(0, keepdim=True)
    torch.testing.assert_close(output.double(), expected, rtol=2e-6, atol=0)


@pytest.mark.parametrize(
    "shape, dims", [((9, 256), (0,)), ((1, 400), (0,)), ((300, 9), (1,))]
)
def test_registers_hold_few_columns_and_rows(shape, dims):
    x = normal(shape, torch.float32)
    output = empty_result(x, dims)
    build = lambda b, t: [b("reduce_sum", t, dims=list(dims))]  # noqa: E731
    assert "at a time" not in run(build, "f32", x, dims, [output])
