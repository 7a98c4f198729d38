"""Products fused with what follows compute what the program did, in normal form."""

import pytest
import torch
from importing import import_function
from normal_form import check_fusion, fusions_of

import girih
from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.evaluation import reference
from girih.passes.registry import run_pipeline

F = torch.nn.functional
ALL = ["graph", "fuse-contractions{products=all}"]


def normal(*shape):
    return torch.randn(shape, dtype=torch.float64).float()


def bias_gelu_residual(x, w, b, r):
    return F.gelu(F.linear(x, w, b)) + r


def swiglu(x, v, w):
    return F.silu(x @ v) * (x @ w)


def heads(x, w):
    return (F.linear(x, w).view(2, 5, 3, 4) * 2).transpose(1, 2).contiguous()


def scaled_heads(x, w):
    return F.linear(x, w).view(2, 5, 3, 4).transpose(1, 2) * 2


def saved_for_later(x, w):
    y = x @ w
    return torch.tanh(y), y


def batches(x, w, b):
    return torch.relu(torch.baddbmm(b, x, w, beta=0.5, alpha=2))


def rows_and_columns(x, w, row, column):
    return torch.sigmoid(x @ w * row + column)


def alone(x, w):
    return x @ w


def followed_by_a_row_sum(x, w):
    return torch.softmax(x @ w, -1)


def halves(x, w):
    a, b = (x @ w).chunk(2, -1)
    return a * torch.sigmoid(b)


def with_its_transpose(x, w):
    y = x @ w
    return y + y.t()


def read_before_the_fusion_too(x, w):
    y = x @ w
    return y @ y, torch.tanh(y)


CASES = {
    bias_gelu_residual: ((2, 5, 6), (12, 6), (12,), (2, 5, 12)),
    swiglu: ((5, 6), (6, 12), (6, 12)),
    heads: ((2, 5, 6), (12, 6)),
    scaled_heads: ((2, 5, 6), (12, 6)),
    saved_for_later: ((5, 6), (6, 12)),
    batches: ((3, 5, 6), (3, 6, 4), (3, 5, 4)),
    rows_and_columns: ((5, 6), (6, 12), (12,), (5, 1)),
    alone: ((5, 6), (6, 12)),
    followed_by_a_row_sum: ((5, 6), (6, 12)),
    halves: ((5, 6), (6, 12)),
    with_its_transpose: ((5, 6), (6, 5)),
    read_before_the_fusion_too: ((5, 6), (6, 5)),
}


def fused(function, inputs, passes=ALL):
    imported = import_function(function, *inputs)
    with imported.module.context, ir.Location.unknown():
        run_pipeline(imported.module, list(passes))
        verifier.verify(imported.module)
    for fusion in fusions_of(imported.module):
        check_fusion(fusion)
    return imported


@pytest.mark.parametrize("function", CASES, ids=lambda each: each.__name__)
def test_results_are_those_of_the_program(function):
    inputs = [normal(*shape) for shape in CASES[function]]
    imported = fused(function, inputs)
    actual = reference.run(imported, inputs, precise=True)
    expected = function(*(each.double() for each in inputs))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for own, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(own, wanted)


def dequantized(x, w, scale):
    return torch.relu(F.linear(x, w.to(x.dtype) * scale[:, None]))


def dequantized_batches(x, w):
    return x @ (w[:, 1:].to(x.dtype) * 0.5)


@pytest.mark.parametrize(("rows", "count"), [(1, 1), (5, 1), (17, 2)])
def test_a_weight_is_computed_where_it_is_used_once(rows, count):
    x, scale = normal(rows, 6).half(), normal(200).half()
    inputs = [x, torch.randint(-9, 9, (200, 6), dtype=torch.int8), scale]
    imported = fused(dequantized, inputs)
    assert len(fusions_of(imported.module)) == count
    (actual,) = reference.run(imported, inputs)
    torch.testing.assert_close(actual, dequantized(*inputs), rtol=1e-2, atol=1e-2)


def test_operands_of_small_products_are_computed_in_them():
    def shifted(x, w):
        return torch.sigmoid((x + 1) @ torch.tanh(w).t())

    inputs = [normal(50, 6), normal(20, 6)]
    passes = ["graph", "fuse-contractions{products=small}"]
    imported = fused(shifted, inputs, passes)
    assert reduced(imported) == [(0,)]
    (actual,) = reference.run(imported, inputs, precise=True)
    torch.testing.assert_close(actual, shifted(*(each.double() for each in inputs)))


def test_a_sliced_weight_of_a_batch():
    x, w = normal(2, 5, 6).half(), torch.randint(-9, 9, (2, 7, 4), dtype=torch.int8)
    imported = fused(dequantized_batches, [x, w])
    assert len(fusions_of(imported.module)) == 1
    (actual,) = reference.run(imported, [x, w])
    torch.testing.assert_close(actual, dequantized_batches(x, w), rtol=1e-2, atol=1e-2)


def names(imported):
    return [
        op.operation.name.removeprefix("graph.")
        for op in reference.function_of(imported.module).regions[0].blocks[0]
    ]


def reduced(imported):
    return [tuple(fusion.reduced) for fusion in fusions_of(imported.module)]


def test_what_follows_is_in_the_kernel():
    for function in (
        bias_gelu_residual,
        swiglu,
        scaled_heads,
        saved_for_later,
        batches,
    ):
        inputs = [normal(*shape) for shape in CASES[function]]
        imported = fused(function, inputs)
        assert reduced(imported) == [(0,)], function
        assert not {"mm", "addmm", "baddbmm", "bmm"} & set(names(imported))


def test_what_cannot_follow_stays_a_kernel_of_its_own():
    for function in (followed_by_a_row_sum, halves, with_its_transpose):
        inputs = [normal(*shape) for shape in CASES[function]]
        assert len(reduced(fused(function, inputs))) == 2, function


@pytest.mark.parametrize(
    ("m", "n", "dtype", "is_kernel"),
    [
        (1, 600, torch.float16, True),
        (16, 600, torch.bfloat16, True),
        (17, 600, torch.float16, False),
        (1, 600, torch.float32, False),
        (256, 256, torch.float32, True),
        (256, 257, torch.float32, False),
        (512, 512, torch.bfloat16, True),
        (128, 128, torch.float64, False),
    ],
)
def test_narrow_and_small_products(m, n, dtype, is_kernel):
    inputs = [normal(m, 64).to(dtype), normal(64, n).to(dtype)]
    passes = ["graph", "fuse-contractions{products=small}"]
    assert ("mm" not in names(fused(alone, inputs, passes))) == is_kernel


def test_attributes_say_what_was_measured():
    imported = import_function(swiglu, *(normal(*s) for s in CASES[swiglu]))
    body = reference.function_of(imported.module).regions[0].blocks[0]
    with imported.module.context, ir.Location.unknown():
        run_pipeline(imported.module, "graph")
        tuning = ir.Attribute.parse("{rows = 64 : i64}")
        products = [op for op in body if op.operation.name == "graph.mm"]
        products[0].attributes["girih.tuning"] = tuning
        run_pipeline(imported.module, "fuse-contractions")
    (fusion,) = fusions_of(imported.module)
    assert fusion.attributes["girih.tuning"] == tuning
    imported = import_function(alone, *(normal(*s) for s in CASES[alone]))
    body = reference.function_of(imported.module).regions[0].blocks[0]
    with imported.module.context, ir.Location.unknown():
        body.operations[0].attributes["girih.library"] = ir.UnitAttr.get()
        run_pipeline(imported.module, ALL)
    assert "mm" in names(imported)


def projections(x, wq, wk, wv, b):
    k = F.linear(x, wk)
    a, b_ = k.chunk(2, -1)
    return F.linear(x, wq), torch.cat((-b_, a), -1), F.linear(x, wv, b)


def scaled_by_another(x, w, v):
    y = x @ w
    return y, x @ (v * y.sum())


def followed(x, w, v):
    return torch.tanh(x @ w), x @ v


SIDE_BY_SIDE = ["graph", "fuse-contractions{products=small most-alike=4}"]


@pytest.mark.parametrize(
    ("rows", "columns", "products"),
    [(1, 600, [1, 2]), (1, 4000, [1, 2]), (8, 600, [1, 2]), (8, 1200, [1, 1, 1])],
)
def test_products_of_one_operand_share_a_kernel(rows, columns, products):
    shapes = (rows, 64), (2 * columns, 64), (columns, 64), (columns, 64), (columns,)
    inputs = [normal(*shape).half() for shape in shapes]
    imported = fused(projections, inputs, SIDE_BY_SIDE)
    counts = [
        sum(op.operation.name == "graph.reduce_sum" for op in f.regions[0].blocks[0])
        for f in fusions_of(imported.module)
        if f.reduced
    ]
    assert sorted(counts) == products
    actual = reference.run(imported, inputs)
    for own, wanted in zip(actual, projections(*inputs), strict=True):
        torch.testing.assert_close(own, wanted, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_so_many_products_share_a_kernel(most):
    def several(x, *weights):
        return tuple(x @ weight for weight in weights)

    inputs = [normal(1, 64).half(), *(normal(64, 100).half() for _ in range(5))]
    passes = ["graph", f"fuse-contractions{{products=small most-alike={most}}}"]
    imported = fused(several, inputs, passes)
    assert len(fusions_of(imported.module)) == -(-5 // most)
    actual = reference.run(imported, inputs)
    for own, wanted in zip(actual, several(*inputs), strict=True):
        torch.testing.assert_close(own, wanted, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("function", [scaled_by_another, followed])
def test_products_that_need_more_than_views_stay_apart(function):
    inputs = [normal(2, 6).half(), normal(6, 32).half(), normal(6, 32).half()]
    imported = fused(function, inputs, SIDE_BY_SIDE)
    contractions = [f for f in fusions_of(imported.module) if tuple(f.reduced) == (0,)]
    assert len(contractions) == 2
    actual = reference.run(imported, inputs)
    for own, wanted in zip(actual, function(*inputs), strict=True):
        torch.testing.assert_close(own, wanted, rtol=1e-2, atol=1e-1)


def test_products_with_other_operands_or_sizes_stay_apart():
    def others(x, y, v, w):
        return x @ w, y @ w, x @ v

    shapes = (1, 64), (1, 64), (64, 100), (64, 200)
    inputs = [normal(*shape).half() for shape in shapes]
    imported = fused(others, inputs, SIDE_BY_SIDE)
    assert len(fusions_of(imported.module)) == 3


def computed(x, w):
    return torch.exp(x) @ torch.exp(w)


@pytest.mark.parametrize(("is_left", "count"), [(True, 1), (False, 2)])
def test_a_left_operand_is_computed_only_where_it_may_be(is_left, count):
    inputs = [normal(5, 6), normal(6, 12)]
    option = f"computes_left={str(is_left).lower()}"
    passes = ["graph", f"fuse-contractions{{products=all {option}}}"]
    imported = fused(computed, inputs, passes)
    assert len(fusions_of(imported.module)) == count
    (actual,) = reference.run(imported, inputs, precise=True)
    torch.testing.assert_close(actual, computed(*(each.double() for each in inputs)))


def test_the_cpu_computes_no_left_operand_in_a_product(tmp_path):
    inputs = [normal(5, 6), normal(6, 12)]
    options = {"fallback": False, "cache_dir": str(tmp_path)}
    compiled = girih.compile(computed, options=options)
    torch.testing.assert_close(compiled(*inputs), computed(*inputs))
    assert girih.report(compiled).kernels == 2
