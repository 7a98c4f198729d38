"""Products of matrices scheduled for tensor cores, interpreted, against NumPy."""

import numpy as np
import pytest
from tile_kernels import build_kernel, schedule, sizes

from girih.dialects import context, verifier
from girih.dialects.bindings import ir
from girih.dialects.types import element_type, shape_of, tensor_type
from girih.evaluation.kernels import run_kernel

GPU = "tile{target=gpu}"


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


class Operands:
    """Builds what a kernel's body needs of operands ``[..., k]`` and ``[k, n]``."""

    def __init__(self, build, domain):
        self.build = build
        self.domain = sizes(domain)

    def viewed(self, name, value, shape, **attributes):
        """A view, or another op whose result type is not inferred."""
        type_ = tensor_type(sizes(shape), value.type.element_type)
        return self.build(name, value, results=[type_], **attributes)

    def wide(self, value):
        """In f32."""
        type_ = tensor_type(shape_of(value.type), element_type("f32"))
        return self.build("cast", value, results=[type_])

    def product(self, a, b):
        """The sum over the domain's first dim."""
        return self.build("reduce_sum", self.build("mul", a, b), dims=(0,))


def matmul(m, n, k, *, turned_x=False, turned_w=False, body=None, rest=(), **options):
    """A kernel of ``x @ w`` in f16 and what ``body(operands, sum, *rest)`` adds."""
    domain = [k, m, n]
    strides_x = [1, m] if turned_x else [k, 1]
    strides_w = [1, k] if turned_w else [n, 1]

    def make(build, x, w, *others):
        o = Operands(build, domain)
        x = o.viewed("reshape", build("permute", x, permutation=(1, 0)), [k, m, 1])
        w = o.viewed("reshape", w, [k, 1, n])
        total = o.product(o.wide(x), o.wide(w))
        return [total if body is None else body(o, total, *others)]

    inputs = [([m, k], "f16", strides_x), ([k, n], "f16", strides_w), *rest]
    return build_kernel(inputs, domain, make, reduced=[0], **options)


def run(module, arrays, shape, symbols=(), options=GPU):
    """Schedules and interprets a kernel; returns its schedule and its result."""
    text = schedule(module, options)
    result = np.full(shape, np.nan, np.float32)
    with context.current():
        verifier.verify(module)
        flat = [np.ravel(array) for array in arrays]
        assert run_kernel(module, [*flat, result.reshape(-1)], symbols)
    return text, result


def product(x, w):
    return x.astype(np.float32) @ w.astype(np.float32)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("m", "n", "k"), [(64, 48, 80), (20, 70, 100), (130, 300, 64), (2, 33, 17)]
)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
def test_products_of_any_sizes_and_strides(m, n, k, turned):
    x, w = normal(m, k), normal(k, n, seed=1)
    module = matmul(m, n, k, turned_x=turned[0], turned_w=turned[1])
    arrays = [x.T if turned[0] else x, w.T if turned[1] else w]
    text, actual = run(module, [np.ascontiguousarray(a) for a in arrays], (m, n))
    assert text.startswith("product: 1 of ")
    close(actual, product(x, w))


def test_an_epilogue_reads_rows_and_whole_blocks():
    m, n, k = 40, 72, 64
    x, w, b = normal(m, k), normal(k, n, seed=1), normal(n, seed=2)
    r, c = normal(m, n, seed=3), normal(m, seed=4)
    rest = [([n], "f16"), ([m, n], "f16"), ([m, 1], "f16")]

    def body(o, total, bias, residual, scale):
        total = o.build("tanh", o.build("add", total, o.wide(bias)))
        total = o.build("mul", total, o.wide(scale))
        return o.build("add", total, o.wide(residual))

    module = matmul(m, n, k, body=body, rest=rest)
    _, actual = run(module, [x, w, b, r, c], (m, n))
    close(actual, np.tanh(product(x, w) + b) * c[:, None] + r)


def test_a_prologue_is_zero_beyond_the_last_summand():
    m, n, k = 32, 32, 40

    def make(build, x, w):
        o = Operands(build, [k, m, n])
        x = o.viewed("reshape", build("permute", x, permutation=(1, 0)), [k, m, 1])
        x = o.build("cast", o.build("exp", o.wide(x)), results=[x.type])
        w = o.viewed("reshape", w, [k, 1, n])
        return [o.product(o.wide(x), o.wide(w))]

    x, w = normal(m, k), normal(k, n, seed=1)
    inputs = [([m, k], "f16"), ([k, n], "f16")]
    module = build_kernel(inputs, [k, m, n], make, reduced=[0])
    text, actual = run(module, [x, w], (m, n))
    assert text.startswith("product")
    close(actual, product(np.exp(x.astype(np.float32)).astype(np.float16), w))


def test_two_products_share_a_loop():
    m, n, k = 33, 64, 48
    x, v, w = normal(m, k), normal(k, n, seed=1), normal(k, n, seed=2)

    def make(build, x, v, w):
        o = Operands(build, [k, m, n])
        x = o.viewed("reshape", build("permute", x, permutation=(1, 0)), [k, m, 1])
        both = [o.wide(o.viewed("reshape", each, [k, 1, n])) for each in (v, w)]
        gate, up = (o.product(o.wide(x), each) for each in both)
        return [o.build("mul", o.build("sigmoid", gate), up)]

    inputs = [([m, k], "f16"), ([k, n], "f16"), ([k, n], "f16")]
    module = build_kernel(inputs, [k, m, n], make, reduced=[0])
    text, actual = run(module, [x, v, w], (m, n))
    assert text.startswith("product: 2 of ")
    close(actual, product(x, w) / (1 + np.exp(-product(x, v))))


def test_batches():
    b, m, n, k = 3, 20, 24, 32
    x, w = normal(b, m, k), normal(b, k, n, seed=1)

    def make(build, x, w):
        o = Operands(build, [k, b, m, n])
        x = o.viewed(
            "reshape", build("permute", x, permutation=(2, 0, 1)), [k, b, m, 1]
        )
        w = o.viewed(
            "reshape", build("permute", w, permutation=(1, 0, 2)), [k, b, 1, n]
        )
        return [o.product(o.wide(x), o.wide(w))]

    inputs = [([b, m, k], "f16"), ([b, k, n], "f16")]
    module = build_kernel(inputs, [k, b, m, n], make, reduced=[0])
    text, actual = run(module, [x, w], (b, m, n))
    assert "batches of 3" in text
    close(actual, product(x, w))


@pytest.mark.parametrize("rows", [2, 17, 130])
def test_symbolic_rows(rows):
    n, k = 40, 32
    x, w = normal(rows, k), normal(k, n, seed=1)
    module = matmul("s0", n, k, symbols=["s0"])
    text, actual = run(module, [x, w], (rows, n), [rows])
    assert text.startswith("product: 1 of s0 by 40")
    close(actual, product(x, w))


def test_long_sums_are_split():
    m, n, k = 20, 70, 4500
    x, w, b = normal(m, k) / 16, normal(k, n, seed=1), normal(n, seed=2)

    def body(o, total, bias):
        return o.build("tanh", o.build("add", total, o.wide(bias)))

    module = matmul(m, n, k, body=body, rest=[([n], "f16")])
    text, actual = run(module, [x.astype(np.float16), w, b], (m, n))
    assert text.startswith("split product")
    close(actual, np.tanh(product(x.astype(np.float16), w) + b))


def tune(module, **tuning):
    with module.context:
        i64 = ir.IntegerType.get_signless(64)
        numbers = {key: ir.IntegerAttr.get(i64, each) for key, each in tuning.items()}
        module.body.operations[0].attributes["girih.tuning"] = ir.DictAttr.get(numbers)


def test_a_measured_tiling_overrides_the_policy():
    module = matmul(64, 96, 128)
    tune(module, rows=32, columns=32, depth=16, group=2, splits=2)
    x, w = normal(64, 128), normal(128, 96, seed=1)
    text, actual = run(module, [x, w], (64, 96))
    assert "blocks of 32 x 32 x 16" in text
    assert "groups of 2, sums in 2 parts" in text
    close(actual, product(x, w))


def test_results_that_lie_across_turn_the_product():
    m, n, k = 48, 80, 32
    module = matmul(m, n, k, output_strides=[[m * n, 1, m]])
    x, w = normal(m, k), normal(k, n, seed=1)
    text, actual = run(module, [x, w], (n, m))
    assert "1 of 80 by 48" in text
    close(actual, product(x, w).T)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("splits", [1, 3])
def test_chosen_products_with_a_vector_have_one_row(turned, splits):
    n, k = 70, 200
    m, n = (n, 1) if turned else (1, n)
    x, w, b = normal(m, k) / 4, normal(k, n, seed=1), normal(n, seed=2)
    x = x.astype(np.float16)

    def body(o, total, bias):
        return o.build("tanh", o.build("add", total, o.wide(bias)))

    module = matmul(m, n, k, body=body, rest=[([n], "f16")])
    tune(module, rows=16, depth=32, splits=splits)
    text, actual = run(module, [x, w, b], (m, n))
    assert "product: 1 of 1 by 70" in text
    close(actual, np.tanh(product(x, w) + b))


def test_a_prologue_of_a_vector():
    n, k = 70, 40

    def make(build, x, w):
        o = Operands(build, [k, 1, n])
        x = o.viewed("reshape", x, [k, 1, 1])
        x = o.build("cast", o.build("exp", o.wide(x)), results=[x.type])
        w = o.viewed("reshape", w, [k, 1, n])
        return [o.product(o.wide(x), o.wide(w))]

    x, w = normal(1, k), normal(k, n, seed=1)
    inputs = [([1, k], "f16"), ([k, n], "f16")]
    module = build_kernel(inputs, [k, 1, n], make, reduced=[0])
    tune(module, rows=16, depth=32)
    text, actual = run(module, [x, w], (1, n))
    assert text.startswith("product")
    close(actual, product(np.exp(x.astype(np.float32)).astype(np.float16), w))


def test_products_of_float32_and_with_vectors_have_no_tiles():
    f32 = [([32, 64], "f32"), ([64, 32], "f32")]

    def make(build, x, w):
        o = Operands(build, [64, 32, 32])
        x = o.viewed("reshape", build("permute", x, permutation=(1, 0)), [64, 32, 1])
        return [o.product(x, o.viewed("reshape", w, [64, 1, 32]))]

    module = build_kernel(f32, [64, 32, 32], make, reduced=[0])
    assert not schedule(module, GPU).startswith("product")
    module = build_kernel(f32, [64, 32, 32], make, reduced=[0])
    assert schedule(module, "tile{target=gpu allow-tf32=true}").startswith("product")
    assert not schedule(matmul(1, 64, 64), GPU).startswith("product")


@pytest.mark.parametrize(("m", "n", "k"), [(8, 8, 8), (1, 40, 100), (50, 70, 100)])
def test_chosen_products_of_float32_keep_their_precision(m, n, k):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, k)).astype(np.float32)
    w = rng.standard_normal((k, n)).astype(np.float32)

    def make(build, x, w):
        o = Operands(build, [k, m, n])
        x = o.viewed("reshape", build("permute", x, permutation=(1, 0)), [k, m, 1])
        return [o.product(x, o.viewed("reshape", w, [k, 1, n]))]

    inputs = [([m, k], "f32"), ([k, n], "f32")]
    module = build_kernel(inputs, [k, m, n], make, reduced=[0])
    tune(module, product=1)
    text, actual = run(module, [x, w], (m, n))
    assert text.startswith("columns" if m == 1 else "product")
    np.testing.assert_allclose(actual, x @ w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", [3, 64, 1000, 20000])
def test_a_vector_times_weights_is_a_sum_of_rows(k):
    module = matmul(1, 70, k, turned_w=True)
    tune(module, product=1)
    x, w = normal(1, k), normal(k, 70, seed=1)
    text, actual = run(module, [x, w.T.copy()], (1, 70))
    assert not text.startswith(("product", "split product"))
    np.testing.assert_allclose(actual, product(x, w), rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize(
    ("columns", "depth", "is_along_depth", "expected"),
    [
        (2048, 2048, True, "blocks of 16 x 16 x 512, 2 warps"),
        (2048, 8192, True, "blocks of 16 x 16 x 512, 2 warps"),
        (2048, 8192, False, "blocks of 16 x 32 x 256, 4 warps"),
        (8192, 2048, True, "blocks of 16 x 32 x 128, 2 warps"),
        (4096, 4096, True, "blocks of 16 x 32 x 256, 2 warps"),
    ],
)
def test_products_of_few_rows_fill_the_processors(
    columns, depth, is_along_depth, expected
):
    module = matmul(4, columns, depth, turned_w=is_along_depth)
    assert expected in schedule(module, GPU)
