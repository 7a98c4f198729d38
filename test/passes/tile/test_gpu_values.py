"""Kernels scheduled for GPUs, interpreted, against the same kernels for the CPU."""

import math
import random

import numpy as np
import pytest
import torch
from gpu_kernels import GPU, check, flat
from tensors import normal
from tile_kernels import (
    DTYPES,
    build_kernel,
    schedule,
    with_element,
)

from girih.dialects import context
from girih.dialects.bindings import ir
from girih.dialects.types import element_type, tensor_type
from girih.evaluation.kernels import run_kernel
from girih.passes.tile.gpu import policy


def reducing(name, x, dims, element="f32", options=GPU):
    """Checks one reduction."""
    shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
    is_argument = name.startswith("arg")
    output = torch.zeros(shape, dtype=torch.int64 if is_argument else x.dtype)
    attributes = {"dim": dims[0]} if is_argument else {"dims": list(dims)}

    def make():
        return build_kernel(
            [(x.shape, element, x.stride())],
            x.shape,
            lambda build, t: [build(name, t, **attributes)],
            reduced=dims,
        )

    return check(make, [x], [output], options=options)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1000,), (1031,), (7, 0), (5, 257)])
@pytest.mark.parametrize("element", ["f16", "f32", "i64", "i32"])
def test_flat(shape, element):
    x, y = normal(shape, DTYPES[element]), normal(shape, DTYPES[element])

    def make():
        return build_kernel(
            [(shape, element), (shape, element)],
            shape,
            lambda build, a, b: [build("where", build("gt", a, b), b, a)],
        )

    check(make, [x, y], [x])


@pytest.mark.parametrize("order", [(1, 0), (0, 2, 1), (2, 0, 1), (2, 1, 0)])
def test_transposes(order):
    shape = (37, 70) if len(order) == 2 else (20, 18, 67)
    base = torch.randn([shape[d] for d in order])
    x = base.permute([order.index(d) for d in range(len(order))])

    def make():
        return build_kernel(
            [(shape, "f32", x.stride()), (shape[-1:], "f32")],
            shape,
            lambda build, a, b: [build("add", build("exp", a), b)],
        )

    text = check(make, [x, torch.randn(shape[-1])], [torch.empty(shape)])
    assert order[-1] == len(order) - 1 or text.startswith("transposed")


SHAPES = (
    ((5, 1), (1,)),
    ((3, 7), (1,)),
    ((5, 17), (1,)),
    ((331, 64), (1,)),
    ((9, 100), (1,)),
    ((2, 20001), (1,)),
    ((70001,), (0,)),
    ((1,), (0,)),
    ((16, 1), (0,)),
    ((7, 3), (0,)),
    ((100, 130), (0,)),
    ((5000, 5), (0,)),
    ((3, 4, 5), (1,)),
    ((4, 6, 7, 9), (0, 2, 3)),
    ((2, 3, 50, 60), (0, 2)),
    ((20, 30, 3), (2,)),
    ((20, 30, 3), (0, 1, 2)),
    ((4, 0), (1,)),
    ((0, 4), (1,)),
    ((0, 4), (0,)),
)


@pytest.mark.parametrize("shape, dims", SHAPES)
def test_reductions(shape, dims):
    reducing("reduce_sum", normal(shape, torch.float32), dims)
    if 0 not in shape:
        x = normal(shape, torch.float32)
        x.view(-1)[x.numel() // 2] = float("nan")
        reducing("reduce_max", x, dims)
        reducing("reduce_min", normal(shape, torch.uint8), dims, "ui8")
    reducing("reduce_any", torch.rand(shape) < 0.02, dims, "i1")
    reducing("reduce_all", torch.rand(shape) > 0.02, dims, "i1")


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize(
    "shape, dims", [s for s in SHAPES if len(s[1]) == 1 and 0 not in s[0]]
)
def test_argument_of_extremum(shape, dims, name):
    x = (normal(shape, torch.float32) / 3).round()
    if x.numel() > 8:
        x.view(-1)[x.numel() // 2] = float("nan")
        x.view(-1)[x.numel() // 3] = float("nan")
    reducing(name, x, dims)


@pytest.mark.parametrize("name", ["reduce_sum", "argmax"])
def test_splits(name):
    few = "tile{target=gpu processors=4}"
    for shape, dims in (((70001,), (0,)), ((2, 40001), (1,)), ((6000, 70), (0,))):
        x = (torch.randn(shape) * 3).round()
        assert reducing(name, x, dims, options=few).startswith("split")


def softmax(build, x, dim):
    """exp(x - max) / sum."""
    power = build("exp", build("sub", x, build("reduce_max", x, dims=[dim])))
    return [build("div", power, build("reduce_sum", power, dims=[dim]))]


@pytest.mark.parametrize("shape", [("s0", 40), ("s0", "s1"), (40, "s0"), (3, "s0")])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_symbolic_rows(dim, shape):
    def make():
        return build_kernel(
            [(shape, "f32")],
            shape,
            lambda build, x: softmax(build, x, dim),
            reduced=[dim],
            symbols=["s0", "s1"],
        )

    for size in (1, 2, 31, 1000):
        values = {"s0": size, "s1": 33}
        x = torch.randn([values.get(n, n) for n in shape])
        check(make, [x], [x], [values["s0"], values["s1"]])


@pytest.mark.parametrize("width", [1, 40, 700, 20000, 70000])
def test_layer_norm(width):
    shape = (3, width)

    def make():
        return build_kernel(
            [(shape, "f16"), ((width,), "f32")], shape, body, reduced=[1]
        )

    def body(build, x, weight):
        scalar = tensor_type((), element_type("f32"))
        wide = build("cast", x, results=[with_element(x, "f32")])
        count = build("constant", value=float(width), results=[scalar])
        mean = build("div", build("reduce_sum", wide, dims=[1]), count)
        centred = build("sub", wide, mean)
        squares = build("reduce_sum", build("mul", centred, centred), dims=[1])
        result = build("mul", build("mul", centred, build("rsqrt", squares)), weight)
        return [build("cast", result, results=[with_element(result, "f16")]), mean]

    x = torch.randn(shape).half() + torch.arange(width).half() / width
    outputs = [torch.empty_like(x), torch.empty(3, 1)]
    check(make, [x, torch.randn(width)], outputs)


@pytest.mark.parametrize("width, kind", [(768, "rows"), (1000, "registers")])
@pytest.mark.parametrize("name", ["norm", "log-softmax"])
def test_short_rows_for_one_warp(width, kind, name):
    """Rows without weights, which one warp walks, or holds."""
    x = normal((3, width), torch.float16)

    def make():
        return build_kernel([(x.shape, "f16")], x.shape, body, reduced=[1])

    def norm(build, x):
        scalar = tensor_type((), element_type("f32"))
        count = build("constant", value=float(width), results=[scalar])
        mean = build("div", build("reduce_sum", x, dims=[1]), count)
        centred = build("sub", x, mean)
        squares = build("reduce_sum", build("mul", centred, centred), dims=[1])
        return build("mul", centred, build("rsqrt", squares))

    def log_softmax(build, x):
        lower = build("sub", x, build("reduce_max", x, dims=[1]))
        total = build("reduce_sum", build("exp", lower), dims=[1])
        return build("sub", lower, build("log", total))

    def body(build, x):
        wide = build("cast", x, results=[with_element(x, "f32")])
        result = {"norm": norm, "log-softmax": log_softmax}[name](build, wide)
        return [build("cast", result, results=[with_element(result, "f16")])]

    options = "tile{target=gpu processors=2}"
    text = check(make, [x], [torch.empty_like(x)], options=options)
    assert text.startswith(kind) and ", 1 warps of " in text


@pytest.mark.parametrize("width", [5, 64, 1000])
@pytest.mark.parametrize("dim", [0, 1])
def test_take(width, dim):
    index = torch.randint(-30, 30, (13,))
    shape = (30, width) if dim == 0 else (width, 30)
    result = (13, width) if dim == 0 else (width, 13)

    def make():
        return build_kernel(
            [(shape, "f32"), ((13,), "i64")],
            result,
            lambda build, x, i: [
                build("neg", build("take", x, i, dim=dim, from_end=True))
            ],
        )

    check(make, [torch.randn(shape), index], [torch.empty(result)])


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "trunc_divide", "pow"])
@pytest.mark.parametrize("shape", [(13,), (5, 20), (3, 1030)])
def test_integers(name, shape):
    # Points outside have the divisor 0, which must not count as a failure.
    x, y = torch.randint(-99, 99, shape), torch.randint(1, 9, shape[-1:])

    def make():
        return build_kernel(
            [(shape, "i64"), (shape[-1:], "i64")],
            shape,
            lambda build, a, b: [build(name, a, b)],
        )

    check(make, [x, y], [x])


@pytest.mark.parametrize("dim", [0, 1])
def test_padding_and_concatenation(dim):
    widths = [3, 3]
    widths[dim] += 4

    def body(build, x):
        low, high = [0, 0], [0, 0]
        low[dim], high[dim] = 1, 3
        padded = build("pad", x, low=low, high=high, value=2.0)
        return [build("exp", padded)]

    x = torch.randn(3, 3)
    shape = tuple(widths)

    def make():
        return build_kernel([((3, 3), "f32")], shape, body)

    check(make, [x], [torch.empty(shape)])


@pytest.mark.parametrize("element", ["f32", "i32"])
def test_later_grids_load_what_was_stored(element):
    """A product of two inputs, which its own sums follow."""
    shape, dtype = (5000, 96), DTYPES[element]
    inputs = [normal(shape, dtype) for _ in range(3)]

    def make():
        def body(build, a, b, c):
            g = build("mul", a, b)
            total = build("reduce_max", g, dims=[0])
            return [g, build("sub", build("maximum", g, c), total)]

        return build_kernel([(shape, element)] * 3, shape, body, reduced=[0])

    check(make, inputs, [inputs[0], inputs[0]])
    module = make()
    schedule(module, GPU)
    *_, last = str(module).split('"tile.grid"')
    whole = last[last.index("tile.loop") : last.index("tile.yield")]
    assert whole.count("tile.load") == 2


def test_failed_check():
    module = build_kernel(
        [((30, 5), "f32"), ((13,), "i64")],
        (13, 5),
        lambda build, x, i: [build("take", x, i, dim=0)],
    )
    schedule(module, GPU)
    index = np.zeros(13, np.int64)
    index[7] = 30
    with context.current():
        arrays = [np.zeros(150, np.float32), index, np.zeros(65, np.float32)]
        assert not run_kernel(module, arrays)


@pytest.mark.parametrize("seed", range(40))
def test_random_kernels(seed):
    rng = random.Random(seed)
    shape = tuple(rng.choice([1, 2, 3, 8, 17, 40, 130]) for _ in range(3))
    order = rng.sample(range(3), 3)
    base = torch.randn([shape[d] for d in order])
    x = base.permute([order.index(d) for d in range(3)])
    row = torch.randn([1 if rng.random() < 0.5 else n for n in shape])
    dims = sorted(rng.sample(range(3), rng.randint(0, 3)))

    def make():
        return build_kernel(
            [(shape, "f32", x.stride()), (row.shape, "f32")],
            shape,
            lambda build, a, b: random_body(random.Random(seed), build, (a, b), dims),
            reduced=dims,
        )

    module = make()
    with context.current():
        writes = [
            op.operation.operands[0].type
            for op in module.body.operations[0].regions[0].blocks[0].operations
            if op.operation.name == "tile.write"
        ]
    outputs = [torch.empty(list(type_.shape)) for type_ in writes]
    check(make, [x, row], outputs)


def random_body(rng, build, tensors, dims):
    """A few elementwise ops, rounds of reductions, one or two outputs."""
    x, row = tensors
    values = [build("add", x, row)]
    reduced = []
    for _ in range(rng.randint(2, 6)):
        value = rng.choice(values)
        kind = rng.random()
        if dims and kind < 0.4:
            name = rng.choice(["reduce_max", "reduce_sum", "reduce_min"])
            reduced.append(build(name, value, dims=dims))
            values.append(build("sub", value, reduced[-1]))
        elif kind < 0.7:
            values.append(build(rng.choice(["tanh", "relu", "neg"]), value))
        else:
            values.append(build("maximum", value, rng.choice(values)))
    return [values[-1], *reduced[-1:]]


SPECIAL = {
    "plain": lambda x: x,
    "large": lambda x: x * 1e4,
    "one inf": lambda x: x.index_fill(1, torch.tensor([3]), float("inf")),
    "all inf": lambda x: torch.full_like(x, float("inf")),
    "begins with -inf": lambda x: x.index_fill(1, torch.arange(9000), float("-inf")),
    "all -inf": lambda x: torch.full_like(x, float("-inf")),
    "nan": lambda x: x.index_fill(1, torch.tensor([9000]), float("nan")),
    "lowest": lambda x: torch.full_like(x, torch.finfo(x.dtype).min),
}


@pytest.mark.parametrize("options", [GPU, "tile{target=gpu processors=4}"])
@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("rows", [1, 3])
def test_online_softmax(kind, rows, options):
    x = SPECIAL[kind](torch.randn(rows, 20011))

    def make():
        return build_kernel([(x.shape, "f32")], x.shape, body, reduced=[1])

    def body(build, x):
        top = build("reduce_max", x, dims=[1])
        total = build("reduce_sum", build("exp", build("sub", x, top)), dims=[1])
        return [build("sub", build("sub", x, top), build("log", total)), top]

    text = check(make, [x], [x, torch.empty(rows, 1)], options=options)
    assert "2 passes" in text


@pytest.mark.parametrize("options", [GPU, "tile{target=gpu processors=4}"])
@pytest.mark.parametrize("offset", [0.0, 1e4, float("inf"), float("nan")])
@pytest.mark.parametrize(
    "shape, dims",
    [
        ((2, 20011), (1,)),
        ((3, 7, 50, 60), (0, 2, 3)),
        ((4001, 5), (0,)),
        ((4096, 5), (0,)),  # the mean is a product
    ],
)
def test_variance_in_one_walk(shape, dims, offset, options):
    x = torch.randn(shape).double() + offset
    x.view(-1)[0] += 1e6
    kept = tuple(1 if d in dims else n for d, n in enumerate(shape))
    count = float(x.numel() // torch.Size(kept).numel())

    def make():
        return build_kernel([(shape, "f64")], shape, body, reduced=dims)

    def body(build, x):
        scalar = tensor_type((), element_type("f64"))
        number = build("constant", value=count, results=[scalar])
        mean = build("div", build("reduce_sum", x, dims=list(dims)), number)
        centred = build("sub", x, mean)
        squares = build("mul", centred, centred)
        return [mean, build("reduce_sum", squares, dims=list(dims))]

    text = check(make, [x], [torch.empty(kept).double()] * 2, options=options)
    assert "1 passes" in text


@pytest.mark.parametrize("width", [4097, 4999, 5001, 8191, 12289])
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_rows_that_start_anywhere(width, element, monkeypatch):
    monkeypatch.setattr(policy, "REGISTER_ROW", 1024)
    x = normal((3, width), DTYPES[element])

    def make():
        return build_kernel(
            [(x.shape, element), ((width,), "f32")], x.shape, body, reduced=[1]
        )

    def body(build, x, weight):
        wide = build("cast", x, results=[with_element(x, "f32")])
        scaled = build("mul", softmax(build, wide, 1)[0], weight)
        return [build("cast", scaled, results=[with_element(x, element)])]

    assert check(make, [x, torch.randn(width)], [x]).endswith("peeled")


@pytest.mark.parametrize("shape", [(37, 5, 19), (70, 3, 40), (33, 1, 100)])
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max"])
def test_repeated_elements(shape, name):
    x = normal((1, *shape[1:]), torch.float32)
    kept = (1, 1, 1)

    def make():
        return build_kernel(
            [(shape, "f32", (0, shape[2], 1))],
            shape,
            lambda build, t: [build(name, t, dims=[0, 1, 2])],
            reduced=[0, 1, 2],
        )

    check(make, [x], [torch.empty(kept)])


def test_measured_sizes():
    x = torch.randn(1000, 1000)

    def make():
        module = build_kernel(
            [(x.shape, "f32", (1, 1000)), (x.shape, "f32")],
            x.shape,
            lambda build, a, b: [build("add", a, b)],
        )
        with context.current():
            kernel = module.body.operations[0]
            kernel.attributes["girih.tuning"] = ir.Attribute.parse("{warps = 2 : i64}")
        return module

    text = check(make, [x.t().contiguous().t(), x], [x])
    assert "2 warps" in text


@pytest.mark.parametrize("shape", [(37, 40), (9, 3, 100), (64, 7), (40, 64)])
def test_short_rows_with_weights(shape, monkeypatch):
    monkeypatch.setattr(policy, "NARROW_ROW", 0)
    monkeypatch.setattr(policy, "MANY_SHORT", 1)
    monkeypatch.setattr(policy, "SHORT_WITH_WEIGHTS", policy.Share(64, 8))

    def make():
        return build_kernel(
            [(shape, "f32"), (shape[-1:], "f32")], shape, body, reduced=[last]
        )

    def body(build, x, weight):
        return [build("mul", softmax(build, x, last)[0], weight)]

    last = len(shape) - 1
    x = torch.randn(shape)
    options = "tile{target=gpu processors=2}"
    check(make, [x, torch.randn(shape[-1])], [x], options=options)


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        (4096, 20000, "8192 along d1 of 20000 in a loop, 32 warps"),
        (100, 20000, "8192 along d1 of 20000 in a loop, 32 warps"),
        (1024, 20000, "4096 along d1 of 20000 in a loop, 16 warps"),
        (4096, 20001, "4096 along d1 of 20001 in a loop, 16 warps"),
    ],
)
def test_long_rows_with_weights_by_their_number(rows, columns, expected):
    def body(build, x, weight):
        largest = build("reduce_max", x, dims=[1])
        return [build("mul", build("sub", x, largest), weight)]

    module = build_kernel(
        [((rows, columns), "f32"), ((columns,), "f32")],
        (rows, columns),
        body,
        reduced=[1],
    )
    assert expected in schedule(module, GPU)


@pytest.mark.parametrize("shape", [(3, 1031), (5, 7, 333), (1000, 3), (1, 77), (64, 1)])
@pytest.mark.parametrize("element", ["f16", "i8"])
def test_pointwise_rows_that_start_anywhere(shape, element):
    x = torch.randint(-9, 9, shape).to(DTYPES[element])
    row, column = x[:1].clone(), x[..., :1].clone()

    def make():
        return build_kernel(
            [(each.shape, element) for each in (x, row, column)],
            shape,
            lambda build, a, b, c: [build("add", build("add", a, b), c)],
        )

    text = check(make, [x, row, column], [x])
    assert text.startswith("flat")


def test_rows_with_gaps_between_them():
    x = torch.randint(-9, 9, (50, 333)).to(torch.int16)
    module = build_kernel(
        [(x.shape, "i16")],
        x.shape,
        lambda build, t: [build("neg", t)],
        output_strides=[(336, 1)],
    )
    assert schedule(module, GPU).startswith("pointwise")
    memory = torch.full((50 * 336,), 7, dtype=torch.int16)
    with context.current():
        assert run_kernel(module, [flat(x), memory.numpy()])
    result = memory.view(50, 336)
    torch.testing.assert_close(result[:, :333], -x)
    assert (result[:, 333:] == 7).all()


def small_sizes(rng, monkeypatch):
    """Sizes of blocks so small that all kinds of loops have several steps."""
    monkeypatch.setattr(policy, "REGISTER_ROW", rng.choice([16, 64, 16384]))
    monkeypatch.setattr(policy, "SINGLE_ROW", rng.choice([8, 64, 8192]))
    monkeypatch.setattr(policy, "WHOLE_COLUMN", rng.choice([4, 1024]))
    monkeypatch.setattr(policy, "NARROW_ROW", 0)
    monkeypatch.setattr(policy, "LEAST_WALKED", rng.choice([16, 2048]))
    for name in ("ROWS", "ROWS_AGAIN", "COLUMNS"):
        share = policy.Share(rng.choice([64, 256, 4096]), 8)
        found = ((0, share),) if name == "ROWS_AGAIN" else share
        monkeypatch.setattr(policy, name, found)


def normalised(build, x, weight, dims, count):
    """A softmax, and a normalisation by mean and variance."""
    number = build(
        "constant", value=count, results=[tensor_type((), element_type("f64"))]
    )
    top = build("reduce_max", x, dims=dims)
    power = build("exp", build("sub", x, top))
    share = build("div", power, build("reduce_sum", power, dims=dims))
    mean = build("div", build("reduce_sum", x, dims=dims), number)
    centred = build("sub", x, mean)
    squares = build("reduce_sum", build("mul", centred, centred), dims=dims)
    scale = build("sqrt", build("add", squares, number))
    return [build("mul", share, weight), build("div", centred, scale), squares]


@pytest.mark.parametrize("seed", range(40))
def test_random_normalisations(seed, monkeypatch):
    rng = random.Random(seed)
    small_sizes(rng, monkeypatch)
    shape = (
        rng.choice([1, 3, 17]),
        rng.choice([1, 2, 40]),
        rng.choice([1, 5, 64, 333]),
    )
    dims = sorted(rng.sample(range(3), rng.randint(1, 3)))
    chosen = rng.choice([[0], [1], [2], [0, 1], [0, 2]])
    x, weight = torch.randn(shape).double(), torch.randn(shape[-1:]).double()
    if rng.random() < 0.3:
        special = rng.choice([math.inf, -math.inf, math.nan])
        x.view(-1)[rng.randrange(x.numel())] = special
    kept = [1 if d in dims else n for d, n in enumerate(shape)]
    count = float(x.numel() // math.prod(kept))

    def body(build, a, b):
        results = normalised(build, a, b, dims, count)
        return [results[number] for number in chosen]

    def make():
        inputs = [(shape, "f64"), (weight.shape, "f64")]
        return build_kernel(inputs, shape, body, reduced=dims)

    outputs = [torch.empty(kept if n == 2 else shape).double() for n in chosen]
    options = f"tile{{target=gpu processors={rng.choice([1, 4, 132])}}}"
    check(make, [x, weight], outputs, options=options)
