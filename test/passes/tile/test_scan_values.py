"""Scans, compiled for the CPU and interpreted for GPUs, against PyTorch."""

import numpy as np
import pytest
import torch
from extent import spread
from tensors import normal
from tile_kernels import DTYPES, CompiledKernel, build_kernel, schedule

from girih.dialects import context, verifier
from girih.dialects.types import element_type, tensor_type
from girih.evaluation.kernels import run_kernel

SHAPES = (
    ((5,), 0),
    ((1,), 0),
    ((3000,), 0),
    ((3, 7), 1),
    ((3, 7), 0),
    ((40, 13), 1),
    ((9, 100), 1),
    ((9, 4096), 1),
    ((3, 4999), 1),
    ((300, 130), 0),
    ((5000, 3), 0),
    ((3, 40, 5), 1),
    ((20, 30, 3), 2),
    ((4, 1), 1),
    ((4, 0), 1),
    ((0, 4), 0),
    ((0, 4), 1),
)


def kernel_of(x, element, dim, symbols=(), shape=None, strides=None, name="cumsum"):
    """A kernel of one scan."""
    shape = shape or x.shape
    return build_kernel(
        [(shape, element, strides or x.stride())],
        shape,
        lambda build, t: [build(name, t, dim=dim)],
        reduced=[dim],
        symbols=symbols,
    )


def on_cpu(module, x, output, symbols=()):
    kernel = CompiledKernel(module)
    assert kernel([x, output], symbols) == 0
    return kernel.schedule


def on_gpu(module, x, output, symbols=()):
    text = schedule(module, "tile{target=gpu}")
    with context.current():
        verifier.verify(module)
        tensors = [torch.as_strided(t, (t.numel(),), (1,)) for t in (x, output)]
        assert run_kernel(module, [t.numpy() for t in tensors], symbols)
    return text


@pytest.mark.parametrize(
    ("place", "element", "run"),
    spread(SHAPES, ["f16", "f32", "f64", "i64", "ui8"], [on_cpu, on_gpu], every=3),
)
def test_sums(place, element, run):
    shape, dim = place
    dtype = DTYPES[element]
    x = normal(shape, dtype)
    output = torch.full(shape, 77).to(dtype)
    run(kernel_of(x, element, dim), x, output)
    if not dtype.is_floating_point:
        assert torch.equal(output, x.cumsum(dim, dtype=dtype))
        return
    exact = x.double().cumsum(dim)
    scale = x.double().abs().cumsum(dim)
    wide = torch.float32 if dtype is torch.float16 else dtype
    bound = scale * torch.finfo(wide).eps * 8 + exact.abs() * torch.finfo(dtype).eps
    assert ((output.double() - exact).abs() <= bound).all()


@pytest.mark.parametrize(
    ("place", "element", "run"),
    spread(SHAPES, ["f16", "f32", "f64", "i64", "ui8"], [on_cpu, on_gpu], every=3),
)
def test_products(place, element, run):
    shape, dim = place
    dtype = DTYPES[element]
    x = normal(shape, dtype)
    if dtype.is_floating_point:
        x = x.sign() * (1 + x / 64)
    output = torch.full(shape, 77).to(dtype)
    run(kernel_of(x, element, dim, name="cumprod"), x, output)
    if not dtype.is_floating_point:
        assert torch.equal(output, x.cumprod(dim, dtype=dtype))
        return
    exact = x.double().cumprod(dim)
    wide = torch.float32 if dtype is torch.float16 else dtype
    relative = torch.finfo(wide).eps * max(shape[dim], 8) + torch.finfo(dtype).eps
    smallest = torch.finfo(dtype).tiny
    is_number = exact.abs() <= torch.finfo(dtype).max
    error = (output.double() - exact).abs()
    assert (error <= exact.abs() * relative + smallest)[is_number].all()


@pytest.mark.parametrize(
    ("place", "element", "run"),
    spread(
        SHAPES, ["f16", "f32", "f64", "i64", "i32", "ui8"], [on_cpu, on_gpu], every=3
    ),
)
def test_extrema(place, element, run):
    shape, dim = place
    dtype = DTYPES[element]
    x = normal(shape, dtype)
    if dtype.is_floating_point and x.numel() > 50:
        flat = x.view(-1)
        flat[3], flat[20], flat[-7] = float("inf"), -float("inf"), float("nan")
    for name in ("max", "min"):
        output = torch.full(shape, 77).to(dtype)
        run(kernel_of(x, element, dim, name=f"scan_{name}"), x, output)
        expected = getattr(x, f"cum{name}")(dim).values
        torch.testing.assert_close(output, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("place", "element", "run"),
    spread(SHAPES, ["f16", "f32", "f64"], [on_cpu, on_gpu], every=3),
)
def test_logarithms_of_sums(place, element, run):
    shape, dim = place
    dtype = DTYPES[element]
    x = normal(shape, dtype)
    if x.numel() > 50:
        flat = x.view(-1)
        flat[:2], flat[9], flat[20] = -float("inf"), -6e4, float("inf")
        flat[-7] = float("nan")
    output = torch.full(shape, 77).to(dtype)
    run(kernel_of(x, element, dim, name="logcumsumexp"), x, output)
    exact = x.double().logcumsumexp(dim)
    # GPUs accumulate f32, as eager's do.
    wide = torch.float32 if dtype is torch.float16 or run is on_gpu else dtype
    wide = dtype if dtype is torch.float64 else wide
    steps = 1 if dtype is torch.float32 and run is on_cpu else 16 + shape[dim] / 8
    relative = torch.finfo(wide).eps * steps + torch.finfo(dtype).eps
    torch.testing.assert_close(
        output.double(), exact, rtol=relative, atol=relative, equal_nan=True
    )


@pytest.mark.parametrize("run", [on_cpu, on_gpu])
@pytest.mark.parametrize("shape, dim", [((70, 90), 0), ((70, 90), 1), ((2, 5000), 1)])
def test_what_is_no_number_stays_behind_itself(shape, dim, run):
    x = normal(shape, torch.float32)
    x[1, 50], x[0, 3] = float("nan"), float("inf")
    x[0, 30] = -float("inf")
    output = torch.zeros(shape)
    run(kernel_of(x, "f32", dim), x, output)
    torch.testing.assert_close(
        output, x.cumsum(dim), rtol=1e-5, atol=1e-4, equal_nan=True
    )


@pytest.mark.parametrize("run", [on_cpu, on_gpu])
@pytest.mark.parametrize("dim", [0, 1])
def test_columns_of_strided_inputs(dim, run):
    x = normal((60, 100), torch.float32).t()
    output = torch.zeros(100, 60)
    run(kernel_of(x, "f32", dim), x, output)
    torch.testing.assert_close(output, x.cumsum(dim), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("run", [on_cpu, on_gpu])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("shape", [(7, 2500), (300, 33), (1, 1), (0, 3), (3, 0)])
def test_symbolic_sizes(shape, dim, run):
    x, output = normal(shape, torch.float32), torch.zeros(shape)
    module = kernel_of(x, "f32", dim, ["s0", "s1"], ["s0", "s1"], ["s1", 1])
    run(module, x, output, shape)
    torch.testing.assert_close(output, x.cumsum(dim), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("run", [on_cpu, on_gpu])
def test_the_scanned_dim_may_be_split(run):
    """A reshape of what is transposed leaves two coordinates for one dim."""
    x, output = normal((6, 4, 50), torch.float32), torch.zeros(50, 24)

    def body(build, t):
        turned = build("permute", t, permutation=(2, 1, 0))
        flat = build(
            "reshape", turned, results=[tensor_type((50, 24), element_type("f32"))]
        )
        return [build("cumsum", flat, dim=1)]

    module = build_kernel([((6, 4, 50), "f32")], (50, 24), body, reduced=[1])
    run(module, x, output)
    expected = x.permute(2, 1, 0).reshape(50, 24).cumsum(1)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("run", [on_cpu, on_gpu])
@pytest.mark.parametrize("shape, dim", [((50, 90), 0), ((50, 90), 1), ((3, 5000), 1)])
def test_what_comes_before_and_after(shape, dim, run):
    x, output = normal(shape, torch.float32), torch.zeros(shape)

    def body(build, t):
        sums = build("cumsum", build("exp", t), dim=dim)
        again = build("cumsum", build("sqrt", sums), dim=dim)
        return [build("mul", again, t)]

    module = build_kernel([(shape, "f32")], shape, body, reduced=[dim])
    text = run(module, x, output)
    assert text.startswith("scan: ")
    expected = x.exp().cumsum(dim).sqrt().cumsum(dim) * x
    torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-3)


def test_sums_of_f32_are_as_precise_as_eager():
    x = torch.from_numpy(np.tile([1e8, 1.0, -1e8, 0.25], 256)).float().reshape(4, 256)
    for dim in (0, 1):
        output = torch.zeros(4, 256)
        on_cpu(kernel_of(x, "f32", dim), x, output)
        assert torch.equal(output, x.cumsum(dim))
