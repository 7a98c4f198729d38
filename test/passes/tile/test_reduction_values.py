"""Reductions, compiled, against PyTorch in float64: kinds, dims, sizes, strides."""

import pytest
import torch
from tensors import normal
from tile_kernels import DTYPES, TILE, CompiledKernel, build_kernel, with_element

from girih.dialects.types import element_type, tensor_type

SHAPES = (
    ((5, 1), (1,)),
    ((3, 7), (1,)),
    ((5, 17), (1,)),
    ((33, 64), (1,)),
    ((9, 100), (1,)),
    ((4, 1000), (1,)),
    ((2, 70001), (1,)),
    ((70001,), (0,)),
    ((300000,), (0,)),
    ((1,), (0,)),
    ((16, 1), (0,)),
    ((7, 3), (0,)),
    ((100, 130), (0,)),
    ((5000, 5), (0,)),
    ((3000, 257), (0,)),
    ((3, 4, 5), (1,)),
    ((3, 4, 500), (1,)),
    ((4, 6, 7, 9), (0, 2, 3)),
    ((2, 3, 50, 60), (0, 2)),
    ((20, 30, 3), (2,)),
    ((20, 30, 3), (0, 1, 2)),
    ((4, 0), (1,)),
    ((0, 4), (1,)),
    ((0, 4), (0,)),
)


def reduce_with(torch_function):
    def function(x, dims):
        for dim in dims:
            x = torch_function(x, dim)
        return x

    return function


KINDS = {
    "reduce_all": reduce_with(lambda x, d: torch.all(x, d, keepdim=True)),
    "reduce_any": reduce_with(lambda x, d: torch.any(x, d, keepdim=True)),
    "reduce_max": lambda x, dims: torch.amax(x, dims, keepdim=True),
    "reduce_min": lambda x, dims: torch.amin(x, dims, keepdim=True),
    "reduce_prod": reduce_with(lambda x, d: torch.prod(x, d, keepdim=True)),
    "reduce_sum": lambda x, dims: torch.sum(x, dims, keepdim=True),
}


def run(name, element, x, dims, output, options=TILE):
    module = build_kernel(
        [(x.shape, element, x.stride())],
        x.shape,
        lambda build, t: [build(name, t, dims=list(dims))],
        reduced=dims,
    )
    kernel = CompiledKernel(module, options)
    assert kernel([x, output]) == 0
    return kernel.schedule


@pytest.mark.parametrize("element", ["f32", "bf16", "i64"])
@pytest.mark.parametrize("shape, dims", SHAPES)
def test_sum(shape, dims, element):
    dtype = DTYPES[element]
    x = normal(shape, dtype)
    output = torch.full([1 if d in dims else n for d, n in enumerate(shape)], 77)
    output = output.to(dtype)
    run("reduce_sum", element, x, dims, output)
    if not dtype.is_floating_point:
        expected = KINDS["reduce_sum"](x.long(), dims).to(dtype)
        assert torch.equal(output, expected)
        return
    exact = KINDS["reduce_sum"](x.double(), dims)
    scale = KINDS["reduce_sum"](x.double().abs(), dims)
    error = (output.double() - exact).abs()
    eps = torch.finfo(torch.float32 if dtype != torch.float64 else dtype).eps
    bound = scale * eps * 4 + exact.abs() * torch.finfo(dtype).eps
    assert (error <= bound).all()


@pytest.mark.parametrize(
    "shape, dims", [*SHAPES, ((4, 1, 7), (1,)), ((1, 4, 4), (0,)), ((1, 1), (0, 1))]
)
def test_sums_of_any_length_may_be_split(shape, dims):
    """Also where the dims that are summed have one element, and none is left."""
    x = normal(shape, torch.int64)
    output = torch.full([1 if d in dims else n for d, n in enumerate(shape)], 77)
    options = TILE.replace("}", " parallel-grain=1}")
    run("reduce_sum", "i64", x, dims, output, options)
    assert torch.equal(output, KINDS["reduce_sum"](x, dims))


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("element", ["f32", "i64", "ui8"])
@pytest.mark.parametrize("shape, dims", [s for s in SHAPES if 0 not in s[0]])
def test_extrema(shape, dims, element, name):
    x = normal(shape, DTYPES[element])
    if x.is_floating_point() and x.numel() > 6:
        x.view(-1)[x.numel() // 2] = float("nan")
        x.view(-1)[0] = float("inf")
        x.view(-1)[1] = -float("inf")
    output = torch.zeros(
        [1 if d in dims else n for d, n in enumerate(shape)], dtype=x.dtype
    )
    run(name, element, x, dims, output)
    torch.testing.assert_close(
        output, KINDS[name](x, dims), rtol=0, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("shape, dims", SHAPES)
def test_product_any_all(shape, dims):
    x = normal(shape, torch.int64)
    x[x == 0] = 1
    shape_out = [1 if d in dims else n for d, n in enumerate(shape)]
    output = torch.empty(shape_out, dtype=torch.int64)
    run("reduce_prod", "i64", x, dims, output)
    assert torch.equal(output, KINDS["reduce_prod"](x, dims))
    bits = torch.rand(shape) < 0.02
    for name, value in (("reduce_any", bits), ("reduce_all", ~bits)):
        flags = torch.empty(shape_out, dtype=torch.bool)
        run(name, "i1", value, dims, flags)
        assert torch.equal(flags, KINDS[name](value, dims))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("element", ["f32", "ui8"])
@pytest.mark.parametrize(
    "shape, dims", [s for s in SHAPES if len(s[1]) == 1 and 0 not in s[0]]
)
def test_argument_of_extremum(shape, dims, element, name):
    x = (normal(shape, DTYPES[element]).float() / 3).round().to(DTYPES[element])
    if x.is_floating_point() and x.numel() > 8:
        x.view(-1)[x.numel() // 2] = float("nan")
        x.view(-1)[x.numel() // 3] = float("nan")
    output = torch.empty(
        [1 if d in dims else n for d, n in enumerate(shape)], dtype=torch.int64
    )
    module = build_kernel(
        [(shape, element)],
        shape,
        lambda build, t: [build(name, t, dim=dims[0])],
        reduced=dims,
    )
    assert CompiledKernel(module)([x, output]) == 0
    function = torch.argmax if name == "argmax" else torch.argmin
    picked = x.gather(dims[0], output)
    expected = x.gather(dims[0], function(x, dims[0], keepdim=True))
    torch.testing.assert_close(picked, expected, rtol=0, atol=0, equal_nan=True)
    # The first of equals.
    same = (x == picked) | (x.isnan() & picked.isnan())
    first = same.int().argmax(dims[0], keepdim=True)
    assert torch.equal(output, first)


@pytest.mark.parametrize("order", [(1, 0), (0, 2, 1), (2, 0, 1), (2, 1, 0)])
def test_strided_inputs(order):
    shape = (37, 50) if len(order) == 2 else (11, 20, 30)
    base = torch.randn([shape[d] for d in order])
    inverse = [order.index(d) for d in range(len(order))]
    x = base.permute(inverse)
    for dim in range(len(shape)):
        output = torch.empty([1 if d == dim else n for d, n in enumerate(shape)])
        run("reduce_sum", "f32", x, (dim,), output)
        torch.testing.assert_close(output, x.sum(dim, keepdim=True))


@pytest.mark.parametrize("shape", [("s0", 40), ("s0", "s1"), (40, "s0")])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_symbolic_rows(dim, shape):
    module = build_kernel(
        [(shape, "f32")],
        shape,
        lambda build, x: softmax(build, x, dim),
        reduced=[dim],
        symbols=["s0", "s1"],
    )
    kernel = CompiledKernel(module)
    for size in (1, 2, 16, 31, 1000, 5001):
        values = {"s0": size, "s1": 33}
        x = torch.randn([values.get(n, n) for n in shape])
        output = torch.empty_like(x)
        assert kernel([x, output], [values["s0"], values["s1"]]) == 0
        torch.testing.assert_close(output, torch.softmax(x, dim))


@pytest.mark.parametrize("columns", [20, 96, 300])
@pytest.mark.parametrize("rows", [1, 7, 16, 33, 100])
def test_softmax_of_rows_across_memory(rows, columns):
    x = torch.randn(3, columns, rows).permute(0, 2, 1)
    module = build_kernel(
        [(x.shape, "f32", x.stride())],
        x.shape,
        lambda build, t: softmax(build, t, 2),
        reduced=[2],
    )
    kernel = CompiledKernel(module)
    if columns > 20:
        assert ("turned" in kernel.schedule) == (rows >= 8)
    output = torch.empty(x.shape)
    assert kernel([x, output]) == 0
    torch.testing.assert_close(output, torch.softmax(x, 2))


def softmax(build, x, dim):
    """exp(x - max) / sum."""
    shifted = build("sub", x, build("reduce_max", x, dims=[dim]))
    power = build("exp", shifted)
    return [build("div", power, build("reduce_sum", power, dims=[dim]))]


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("shape", [(33, 768), (5, 10), (3, 4099), (2, 100000)])
def test_layer_norm(shape, element):
    width = shape[1]
    x, weight, bias = (
        normal(shape, DTYPES[element]),
        torch.randn(width),
        torch.randn(width),
    )

    def body(build, x, weight, bias):
        wide = build("cast", x, results=[with_element(x, "f32")])
        count = build("constant", value=float(width), results=[scalar(x)])
        eps = build("constant", value=1e-5, results=[scalar(x)])
        mean = build("div", build("reduce_sum", wide, dims=[1]), count)
        centred = build("sub", wide, mean)
        squares = build("reduce_sum", build("mul", centred, centred), dims=[1])
        rstd = build("rsqrt", build("add", build("div", squares, count), eps))
        scaled = build("mul", build("mul", centred, rstd), weight)
        result = build("add", scaled, bias)
        return [build("cast", result, results=[with_element(result, element)]), mean]

    module = build_kernel(
        [(shape, element), ((width,), "f32"), ((width,), "f32")],
        shape,
        body,
        reduced=[1],
    )
    kernel = CompiledKernel(module)
    output, mean = torch.empty_like(x), torch.empty(shape[0], 1)
    assert kernel([x, weight, bias, output, mean]) == 0
    wide = x.float()
    expected = torch.nn.functional.layer_norm(wide, (width,), weight, bias)
    torch.testing.assert_close(output, expected.to(x.dtype))
    torch.testing.assert_close(mean, wide.mean(1, keepdim=True))


def scalar(tensor):
    """The type of a scalar f32."""
    return tensor_type((), element_type("f32"))
