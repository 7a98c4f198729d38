"""Products of matrices scheduled for the CPU, compiled, against torch."""

import itertools
import math

import numpy as np
import pytest
import torch
from tile_kernels import (
    DTYPES,
    VECTOR_BITS,
    CompiledKernel,
    build_kernel,
    schedule,
    sizes,
)

from girih.dialects.bindings import ir
from girih.dialects.types import element_type, shape_of, tensor_type
from girih.evaluation import kernels


def chosen(module):
    with module.context:
        one = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
        tuning = ir.DictAttr.get({"product": one})
        module.body.operations[0].attributes["girih.tuning"] = tuning
    return module


def wide(build, value, name="f32"):
    type_ = tensor_type(shape_of(value.type), element_type(name))
    return build("cast", value, results=[type_])


def viewed(build, value, shape):
    type_ = tensor_type(sizes(shape), value.type.element_type)
    return build("reshape", value, results=[type_])


def matmul(m, n, k, *, turned=(False, False), dtype="f32", body=None, **options):
    """A kernel of ``x @ w``; turned operands lie column by column."""
    strides = [1, m] if turned[0] else [k, 1], [1, k] if turned[1] else [n, 1]

    def make(build, x, w, *others):
        x = viewed(build, build("permute", x, permutation=(1, 0)), [k, m, 1])
        w = viewed(build, w, [k, 1, n])
        if dtype not in ("f32", "f64"):
            x, w = wide(build, x), wide(build, w)
        total = build("reduce_sum", build("mul", x, w), dims=(0,))
        return [total if body is None else body(build, total, *others)]

    rest = options.pop("rest", ())
    inputs = [([m, k], dtype, strides[0]), ([k, n], dtype, strides[1]), *rest]
    return chosen(build_kernel(inputs, [k, m, n], make, reduced=[0], **options))


def drawn(m, n, turned, dtype):
    torch.manual_seed(m * 1000 + n)
    x = torch.randn(n, m) if turned else torch.randn(m, n)
    x = x.to(DTYPES[dtype])
    return x.t() if turned else x


def run(module, tensors, shape, dtype="f32", symbols=(), options=None):
    bits = f"tile{{vector-bits={VECTOR_BITS}}}"
    kernel = CompiledKernel(module, options or bits)
    assert kernel.schedule.startswith("product: ")
    result = torch.full(shape, torch.nan, dtype=DTYPES[dtype])
    assert kernel([*tensors, result], symbols) == 0
    return kernel.schedule, result


def close(actual, expected, *, tolerance=3e-6):
    scale = expected.abs().max().clamp(min=1e-30)
    assert ((actual.double() - expected).abs().max() / scale) < tolerance


BOTH_TURNED = [(a, b) for a in (False, True) for b in (False, True)]
SHAPES = [(2, 5, 3), (7, 19, 33), (64, 48, 80), (50, 49, 17), (130, 300, 64)]


@pytest.mark.parametrize("turned", BOTH_TURNED)
@pytest.mark.parametrize(("m", "n", "k"), [*SHAPES, (3, 16, 300), (600, 10, 100)])
def test_product(m, n, k, turned):
    x, w = drawn(m, k, turned[0], "f32"), drawn(k, n, turned[1], "f32")
    _, actual = run(matmul(m, n, k, turned=turned), [x, w], (m, n))
    close(actual, x.double() @ w.double())


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("turned", [(False, False), (False, True)])
def test_vectors_of_each_width(bits, turned):
    if bits > VECTOR_BITS:
        pytest.skip(f"the processor has vectors of {VECTOR_BITS} bits")
    m, n, k = 37, 53, 29
    x, w = drawn(m, k, False, "f32"), drawn(k, n, turned[1], "f32")
    module = matmul(m, n, k, turned=turned)
    options = f"tile{{vector-bits={bits}}}"
    text, actual = run(module, [x, w], (m, n), options=options)
    assert f"vectors of {bits // 32}" in text
    close(actual, x.double() @ w.double())


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f64"])
@pytest.mark.parametrize("turned", [(False, False), (False, True)])
def test_other_elements(dtype, turned):
    m, n, k = 40, 70, 90
    x, w = drawn(m, k, False, dtype), drawn(k, n, turned[1], dtype)
    result = "f64" if dtype == "f64" else "f32"
    module = matmul(m, n, k, turned=turned, dtype=dtype)
    _, actual = run(module, [x, w], (m, n), result)
    tolerance = 1e-14 if dtype == "f64" else 3e-6
    close(actual, x.double() @ w.double(), tolerance=tolerance)


@pytest.mark.parametrize("turned", [(False, False), (False, True)])
@pytest.mark.parametrize("dtypes", [("f32", "bf16"), ("bf16", "f32"), ("f16", "f32")])
def test_operands_of_two_elements(dtypes, turned):
    m, n, k = 40, 70, 90
    x, w = drawn(m, k, False, dtypes[0]), drawn(k, n, turned[1], dtypes[1])

    def make(build, x, w):
        x = viewed(build, build("permute", x, permutation=(1, 0)), [k, m, 1])
        x, w = wide(build, x), wide(build, viewed(build, w, [k, 1, n]))
        return [build("reduce_sum", build("mul", x, w), dims=(0,))]

    strides = [k, 1], [1, k] if turned[1] else [n, 1]
    inputs = [([m, k], dtypes[0], strides[0]), ([k, n], dtypes[1], strides[1])]
    module = chosen(build_kernel(inputs, [k, m, n], make, reduced=[0]))
    _, actual = run(module, [x, w], (m, n))
    close(actual, x.double() @ w.double())


FETCHING = f"tile{{vector-bits={VECTOR_BITS} l2-bytes=8192}}"


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
@pytest.mark.parametrize(("m", "n", "k"), [(2, 300, 40), (30, 200, 64), (64, 131, 50)])
def test_columns_that_are_fetched_ahead(m, n, k, dtype, turned):
    x, w = drawn(m, k, False, dtype), drawn(k, n, turned, dtype)
    module = matmul(m, n, k, turned=(False, turned), dtype=dtype)
    result = "f64" if dtype == "f64" else "f32"
    text, actual = run(module, [x, w], (m, n), result, options=FETCHING)
    assert text.endswith("columns fetched ahead")
    tolerance = 1e-14 if dtype == "f64" else 3e-6
    close(actual, x.double() @ w.double(), tolerance=tolerance)


class Lines:
    """When lines of an operand were fetched and read first, as a kernel runs."""

    def __init__(self, monkeypatch, elements):
        self.fetched, self.read = {}, {}
        self.elements, self.clock = elements, itertools.count()
        self.load = kernels.RULES["tile.load"]
        monkeypatch.setitem(kernels.RULES, "tile.prefetch", self._fetch)
        monkeypatch.setitem(kernels.RULES, "tile.load", self._load)

    def _fetch(self, op, buffer, offset):
        if len(buffer) == self.elements:
            self.fetched.setdefault(int(offset) // 64, next(self.clock))

    def _load(self, op, *operands):
        buffer, offset, *strides = operands
        if len(buffer) == self.elements:
            for lane in itertools.product(*map(range, sizes_of(op.results[0].type))):
                moved = sum(i * int(s) for i, s in zip(lane, strides, strict=False))
                line = (int(offset) + moved) * buffer.itemsize // 64
                self.read.setdefault(line, next(self.clock))
        return self.load(op, *operands)

    def late(self):
        """Lines that were not fetched before they were read."""
        lines = range(self.elements * 4 // 64)
        assert self.fetched.keys() <= set(lines)
        return [x for x in lines if self.fetched.get(x, math.inf) > self.read[x]]


def interpreted(module, arrays, shape):
    """What a scheduled kernel computes, op by op."""
    result = np.zeros(math.prod(shape), np.float32)
    arrays = [each.reshape(-1).numpy() for each in arrays]
    operation = module.body.operations[0].operation
    kernels.run(operation, [*arrays, result], for_gpu=False)
    return torch.from_numpy(result).view(shape)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(2, 128, 64), (30, 128, 64), (20, 200, 32)])
def test_lines_are_fetched_before_they_are_read(monkeypatch, m, n, k, turned):
    """All lines of an operand but those of the first panel, and no other lines."""
    lines = Lines(monkeypatch, n * k)
    module = matmul(m, n, k, turned=(False, turned))
    assert schedule(module, FETCHING).endswith("columns fetched ahead")
    x, w = drawn(m, k, False, "f32"), drawn(k, n, turned, "f32")
    actual = interpreted(module, [x, w.t() if turned else w], (m, n))
    close(actual, x.double() @ w.double())
    assert len(lines.late()) <= 64 * k * 4 // 64, "more than the first panel"


@pytest.mark.parametrize(("m", "panels", "k"), [(3, 5, 40), (30, 3, 64), (20, 4, 33)])
@pytest.mark.parametrize("panel", [16, 32, 64, 80, 96])
def test_operands_that_lie_in_panels(monkeypatch, m, panels, k, panel):
    """They are not copied, and the next panel is fetched."""
    lines = Lines(monkeypatch, panels * panel * k)

    def make(build, x, w):
        x = viewed(build, build("permute", x, permutation=(1, 0)), [k, m, 1, 1])
        w = viewed(
            build, build("permute", w, permutation=(1, 0, 2)), [k, 1, panels, panel]
        )
        return [build("reduce_sum", build("mul", x, w), dims=(0,))]

    inputs = [([m, k], "f32"), ([panels, k, panel], "f32")]
    module = chosen(build_kernel(inputs, [k, m, panels, panel], make, reduced=[0]))
    cache = 2 * panels * panel * k * 4
    text = schedule(module, f"tile{{vector-bits={VECTOR_BITS} l2-bytes={cache}}}")
    assert text.endswith("columns fetched ahead") and "copied" not in text
    torch.manual_seed(0)
    x, w = torch.randn(m, k), torch.randn(panels, k, panel)
    actual = interpreted(module, [x, w], (m, panels, panel))
    close(actual, torch.einsum("mk,pkn->mpn", x.double(), w.double()))
    assert len(lines.late()) <= panel * k * 4 // 64


def test_what_sums_are_combined_with_is_fetched_before_them(monkeypatch):
    m, n, k = 30, 160, 24
    lines = Lines(monkeypatch, m * n)
    body = lambda build, total, other: build("add", total, other)  # noqa: E731
    module = matmul(m, n, k, body=body, rest=[([m, n], "f32")])
    schedule(module, f"tile{{vector-bits={VECTOR_BITS}}}")
    x, w = drawn(m, k, False, "f32"), drawn(k, n, False, "f32")
    other = torch.randn(m, n)
    actual = interpreted(module, [x, w, other], (m, n))
    close(actual, x.double() @ w.double() + other)
    assert not lines.late()


def sizes_of(type_):
    return tuple(type_.shape) if isinstance(type_, ir.VectorType) else ()


def test_what_follows_is_computed_of_the_sums():
    m, n, k = 45, 50, 20
    x, w = drawn(m, k, False, "f32"), drawn(k, n, False, "f32")
    bias, other = torch.randn(n), torch.randn(m, n)

    def body(build, total, bias, other):
        return build("mul", build("tanh", build("add", total, bias)), other)

    rest = [([n], "f32"), ([m, n], "f32")]
    module = matmul(m, n, k, body=body, rest=rest)
    _, actual = run(module, [x, w, bias, other], (m, n))
    close(actual, torch.tanh(x.double() @ w.double() + bias) * other)


def test_results_that_lie_across_turn_the_product():
    m, n, k = 48, 80, 32
    module = matmul(m, n, k, output_strides=[[m * n, 1, m]])
    x, w = drawn(m, k, False, "f32"), drawn(k, n, False, "f32")
    text, actual = run(module, [x, w], (n, m))
    assert "1 of 80 by 48" in text
    close(actual, (x.double() @ w.double()).t())


@pytest.mark.parametrize("rows", [1, 2, 13, 64, 500])
def test_symbolic_rows(rows):
    n, k = 40, 30
    module = matmul("s0", n, k, symbols=["s0"])
    x, w = drawn(rows, k, False, "f32"), drawn(k, n, False, "f32")
    _, actual = run(module, [x, w], (rows, n), symbols=[rows])
    close(actual, x.double() @ w.double())


@pytest.mark.parametrize("turned", [False, True])
def test_two_products_share_a_loop(turned):
    m, n, k = 33, 70, 40
    strides = [1, k] if turned else [n, 1]

    def make(build, x, w, v):
        x = viewed(build, build("permute", x, permutation=(1, 0)), [k, m, 1])
        sums = [
            build("reduce_sum", build("mul", x, viewed(build, y, [k, 1, n])), dims=(0,))
            for y in (w, v)
        ]
        return [build("mul", sums[0], build("tanh", sums[1]))]

    inputs = [([m, k], "f32"), ([k, n], "f32", strides), ([k, n], "f32", strides)]
    module = chosen(build_kernel(inputs, [k, m, n], make, reduced=[0]))
    x = drawn(m, k, False, "f32")
    w, v = drawn(k, n, turned, "f32"), drawn(k, n, turned, "f32") + 1
    text, actual = run(module, [x, w, v], (m, n))
    assert "2 of 33 by 70" in text
    x, w, v = x.double(), w.double(), v.double()
    close(actual, (x @ w) * torch.tanh(x @ v))


@pytest.mark.parametrize("turned", [False, True])
def test_batches_and_sums_over_two_dims(turned):
    """b[i, m, n] = sum over j and k of x[i, j, m, k] * w[i, j, k, n]."""
    i, j, m, n, k = 3, 4, 20, 35, 18
    strides = [j * k * n, k * n, 1, k] if turned else [j * k * n, k * n, n, 1]

    def make(build, x, w):
        x = build("permute", x, permutation=(1, 3, 0, 2))
        x = viewed(build, x, [j, k, i, m, 1])
        w = build("permute", w, permutation=(1, 2, 0, 3))
        w = viewed(build, w, [j, k, i, 1, n])
        return [build("reduce_sum", build("mul", x, w), dims=(0, 1))]

    inputs = [([i, j, m, k], "f32"), ([i, j, k, n], "f32", strides)]
    domain = [j, k, i, m, n]
    module = chosen(build_kernel(inputs, domain, make, reduced=[0, 1]))
    x = torch.randn(i, j, m, k)
    w = torch.randn(i, j, n, k).mT if turned else torch.randn(i, j, k, n)
    _, actual = run(module, [x, w], (i, m, n))
    close(actual, (x.double() @ w.double()).sum(1))


def test_long_sums_are_as_exact_as_torchs():
    m, n, k = 16, 32, 8192
    x, w = drawn(m, k, False, "f32"), drawn(k, n, False, "f32")
    _, actual = run(matmul(m, n, k), [x, w], (m, n))
    expected = x.double() @ w.double()
    errors = [(y.double() - expected).abs().mean() for y in (actual, x @ w)]
    assert errors[0] < 1.5 * errors[1]


def test_numbers_that_are_none():
    m, n, k = 20, 40, 20
    x, w = drawn(m, k, False, "f32"), drawn(k, n, False, "f32")
    x[3, 4], x[5, 6], w[7, 8] = torch.nan, torch.inf, -torch.inf
    _, actual = run(matmul(m, n, k), [x, w], (m, n))
    expected = x.double() @ w.double()
    assert torch.equal(actual.isnan(), expected.isnan())
    assert torch.equal(actual.isinf(), expected.isinf())


@pytest.mark.parametrize(("k", "is_crowded"), [(1000, False), (1024, True)])
def test_few_rows_where_all_fall_into_one_set_of_the_cache(k, is_crowded):
    """A row of 1024 elements is as long as a way of the first-level cache."""
    m, n = 196, 256
    x, w = drawn(m, k, False, "f32"), drawn(k, n, False, "f32")
    text, actual = run(matmul(m, n, k), [x, w], (m, n))
    rows = int(text.partition("blocks of ")[2].partition(" rows")[0])
    if is_crowded or VECTOR_BITS == 512:  # with fewer registers blocks are small
        assert (rows <= 8) is is_crowded, text
    close(actual, x.double() @ w.double())
