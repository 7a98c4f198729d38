"""Views, indexing and creation inside kernels, compiled, against eager PyTorch."""

import pytest
import torch
from tile_kernels import CompiledKernel, build_kernel, with_element

from girih.dialects.dims import parse
from girih.dialects.types import element_type, tensor_type
from girih.passes.registry import PassError


def tensor(shape, name="f32"):
    return tensor_type(shape, element_type(name))


def check(inputs, body, expected, *, symbols=(), values=(), shapes=None, strides=None):
    """Runs ``body`` as a kernel over the domain of the expected result."""
    names = {
        torch.float32: "f32",
        torch.int64: "i64",
        torch.int32: "i32",
        torch.bool: "i1",
    }
    shapes = shapes or [tuple(x.shape) for x in inputs]
    domain = shapes[-1] if symbols else tuple(expected.shape)
    types = [
        (shape, names[x.dtype], None if symbols else x.stride())
        for shape, x in zip(shapes, inputs, strict=False)
    ]
    module = build_kernel(
        types, domain, body, symbols=symbols, output_strides=[strides]
    )
    kernel = CompiledKernel(module)
    output = torch.full(expected.shape, 99).to(expected.dtype)
    if strides is not None:
        output = torch.empty_strided(expected.shape, strides, dtype=expected.dtype)
    assert kernel([*inputs, output], values) == 0
    assert torch.equal(output, expected)
    return kernel.schedule


def exp_free(build, x):
    """Some elementwise work that is exact."""
    return build("add", x, x)


def test_contiguous_views_are_one_loop():
    x = torch.randn(6, 8, 5)
    schedule = check(
        [x],
        lambda b, t: [exp_free(b, b("reshape", t, results=[tensor((48, 5))]))],
        (x + x).reshape(48, 5),
    )
    assert schedule.startswith("flat")


@pytest.mark.parametrize(
    "source, target",
    [
        ((6, 8), (2, 3, 8)),
        ((2, 3, 8), (6, 8)),
        ((4, 6), (6, 4)),
        ((4, 6), (3, 8)),
        ((2, 3, 4, 5), (6, 20)),
        ((120,), (2, 3, 4, 5)),
        ((1, 7, 1), (7,)),
        ((7,), (1, 7, 1, 1)),
    ],
)
def test_reshape_of_permuted(source, target):
    # The permutation keeps the reshape from being a view of the buffer.
    order = tuple(reversed(range(len(source))))
    base = torch.randn(tuple(reversed(source)))

    def body(b, t):
        turned = b("permute", t, permutation=order)
        view = b("reshape", turned, results=[tensor(target)])
        return [exp_free(b, view)]

    expected = (base + base).permute(order).reshape(target)
    check([base], body, expected)


@pytest.mark.parametrize("order", [(1, 0), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("size", [1, 3, 16, 33, 100])
def test_permute_add(order, size):
    shape = tuple(size + 7 * d for d in range(len(order)))
    x = torch.randn(shape)
    expected = x.permute(order)
    y = torch.randn(expected.shape)

    def body(b, t, other):
        return [b("add", b("permute", t, permutation=order), other)]

    check([x, y], body, expected + y)


def test_slices_and_flips():
    x = torch.randn(20, 33)

    def body(b, t):
        part = b("slice", t, starts=[3, 1], steps=[2, 4], results=[tensor((8, 8))])
        return [exp_free(b, b("flip", part, dims=[1]))]

    expected = x[3:19:2, 1:33:4].flip(1)
    check([x], body, expected + expected)


@pytest.mark.parametrize("step", [1, 3, 5])
@pytest.mark.parametrize("dim", [0, 1])
def test_windows(dim, step):
    x = torch.randn(40, 33)
    expected = x.unfold(dim, 4, step)

    def body(b, t):
        shape = tensor(tuple(expected.shape))
        return [exp_free(b, b("window", t, dim=dim, step=step, results=[shape]))]

    check([x], body, expected + expected)


@pytest.mark.parametrize("size", [1, 5, 16, 40])
def test_pad(size):
    x = torch.randn(3, size)

    def body(b, t):
        shape = (3 + 3, size + 3)
        padded = b(
            "pad", t, low=[1, 2], high=[2, 1], value=1.5, results=[tensor(shape)]
        )
        return [exp_free(b, padded)]

    expected = torch.nn.functional.pad(x, (2, 1, 1, 2), value=1.5)
    check([x], body, expected + expected)


@pytest.mark.parametrize("dim", [0, 1])
def test_concat(dim):
    pieces = [torch.randn(5, 7), torch.randn(5, 7), torch.randn(5, 7)]
    expected = torch.cat(pieces, dim)

    def body(b, *tensors):
        joined = b("concat", *tensors, dim=dim, results=[tensor(expected.shape)])
        return [exp_free(b, joined)]

    check(pieces, body, expected + expected)


def test_broadcast_of_scalars_and_rows():
    x, row, column = torch.randn(9, 40), torch.randn(40), torch.randn(9, 1)
    scalar = torch.randn(())

    def body(b, *tensors):
        x, row, column, scalar = tensors
        return [b("mul", b("add", b("add", x, row), column), scalar)]

    check([x, row, column, scalar], body, (x + row + column) * scalar)


@pytest.mark.parametrize("index_type", [torch.int64, torch.int32])
@pytest.mark.parametrize("width", [1, 8, 100])
def test_embedding(width, index_type):
    weight = torch.randn(50, width)
    index = torch.randint(-50, 50, (6, 7)).to(index_type)

    def body(b, w, i):
        options = {"dim": 0, "from_end": True, "results": [tensor((6, 7, width))]}
        rows = b("take", w, i, **options)
        return [exp_free(b, rows)]

    expected = weight[index.long()]
    check([weight, index], body, expected + expected)


@pytest.mark.parametrize("dim", [0, 1])
def test_gather(dim):
    x = torch.randn(40, 50)
    index = torch.randint(0, 40, (30, 45))
    expected = torch.gather(x, dim, index)

    def body(b, t, i):
        picked = b("gather", t, i, dim=dim, results=[tensor((30, 45))])
        return [exp_free(b, picked)]

    check([x, index], body, expected + expected)


@pytest.mark.parametrize("counts", [{}, {"from_end": True}])
def test_index_out_of_range_sets_the_status(counts):
    module = build_kernel(
        [((10, 4), "f32"), ((3,), "i64")],
        (3, 4),
        lambda b, w, i: [b("take", w, i, dim=0, results=[tensor((3, 4))], **counts)],
    )
    kernel = CompiledKernel(module)
    weight, output = torch.randn(10, 4), torch.empty(3, 4)
    assert kernel([weight, torch.tensor([0, 3, 9]), output]) == 0
    assert kernel([weight, torch.tensor([0, -10, 9]), output]) == (not counts)
    assert kernel([weight, torch.tensor([0, 10, 9]), output]) == 1
    assert kernel([weight, torch.tensor([0, 1, -11]), output]) == 1


def test_division_by_zero_sets_the_status():
    module = build_kernel(
        [((37,), "i64"), ((37,), "i64")],
        (37,),
        lambda b, x, y: [b("floor_divide", x, y)],
    )
    kernel = CompiledKernel(module)
    x, y, output = torch.arange(37), torch.arange(37) + 1, torch.empty(37).long()
    assert kernel([x, y, output]) == 0
    assert torch.equal(output, x // y)
    y[36] = 0
    assert kernel([x, y, output]) == 1


def test_iota_and_where():
    x = torch.randn(30, 30)

    def body(b, t):
        row = b("iota", start=0, step=1, results=[tensor((30,), "i64")])
        column = b("reshape", row, results=[tensor((30, 1), "i64")])
        keep = b("le", row, column)
        zero = b("constant", value=0.0, results=[tensor(())])
        return [b("where", keep, t, zero)]

    check([x], body, x.tril())


def test_bool_output_and_strided_output():
    x = torch.randn(12, 20)
    check([x], lambda b, t: [b("gt", t, b("neg", t))], x > -x)
    check([x], lambda b, t: [exp_free(b, t)], x + x, strides=(1, 12))


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 5), (64, 100), (7, 1000)])
def test_symbolic_broadcast(rows, columns):
    x, row = torch.randn(rows, columns), torch.randn(columns)
    check(
        [row, x],
        lambda b, r, t: [b("add", t, r)],
        x + row,
        symbols=["s0", "s1"],
        values=[rows, columns],
        shapes=[("s1",), ("s0", "s1")],
    )


def test_sizes_that_are_symbols_read_as_numbers():
    x = torch.randn(6, 4, 10)
    shapes = [("s0", "s1", "s2"), (8, 30)]
    module = build_kernel(
        [(shapes[0], "f32", ("s1*s2", "s2", 1))],
        shapes[1],
        lambda b, t: [exp_free(b, b("reshape", t, results=[tensor((8, 30))]))],
        symbols=["s0", "s1", "s2"],
    )
    kernel, output = CompiledKernel(module), torch.empty(8, 30)
    assert kernel([x, output], [6, 4, 10]) == 0
    assert torch.equal(output, (x + x).view(8, 30))


def test_two_outputs_share_loads():
    x = torch.randn(50)
    module = build_kernel(
        [((50,), "f32")],
        (50,),
        lambda b, t: [
            b("add", t, t),
            b("cast", b("neg", t), results=[with_element(t, "bf16")]),
        ],
    )
    first, second = torch.empty(50), torch.empty(50, dtype=torch.bfloat16)
    assert CompiledKernel(module)([x, first, second]) == 0
    assert torch.equal(first, x + x)
    assert torch.equal(second, (-x).bfloat16())


@pytest.mark.parametrize("size", [2, 5, 40])
def test_sizes_divide_as_in_python(size):
    x = torch.randn(size)
    first = parse("-1 % s0")

    def body(b, t):
        last = tensor((parse("s0") - first,))
        return [b("neg", b("slice", t, starts=[first], steps=[1], results=[last]))]

    module = build_kernel([(("s0",), "f32")], ("s0 - (-1 % s0)",), body, symbols=["s0"])
    output = torch.empty(1)
    assert CompiledKernel(module)([x, output], [size]) == 0
    assert torch.equal(output, -x[-1:])


@pytest.mark.parametrize("reduced", [(), (0,), (1,)])
def test_views_of_nothing(reduced):
    def body(b, t):
        view = b("reshape", t, results=[tensor((5, 0))])
        if not reduced:
            return [b("neg", view)]
        return [b("reduce_sum", view, dims=list(reduced))]

    module = build_kernel([((0, 2, 3), "f32")], (5, 0), body, reduced=reduced)
    kernel = CompiledKernel(module)
    output = torch.full([1 if d in reduced else n for d, n in enumerate((5, 0))], 9.0)
    assert kernel([torch.empty(0, 2, 3), output]) == 0
    assert (output == 0).all()


def test_lanes_are_not_stored_at_one_place():
    with pytest.raises(PassError, match="girih bug: all lanes are stored at"):
        check(
            [torch.ones(64)], lambda b, x: [b("neg", x)], torch.ones(64), strides=(0,)
        )
