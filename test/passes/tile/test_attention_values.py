"""Attention kernels, interpreted, against float64."""

import math

import numpy as np
import pytest
import torch

from girih.dialects import verifier
from girih.dialects.attributes import INT
from girih.dialects.bindings import ir
from girih.dialects.graph import KERNELS
from girih.evaluation.kernels import run_kernel
from girih.frontend.importer import import_graph
from girih.passes.registry import run_pipeline
from girih.passes.tile.gpu.attention.policy import Problem, Sizes
from girih.passes.tile.gpu.attention.tuning import tunable_attention

RECOGNIZE = "recognize-attention{target=gpu}"


def kernel_of(function, inputs, **tuning):
    """The only kernel of a function, scheduled for a GPU."""
    module = import_graph(torch.fx.symbolic_trace(function), inputs).module
    with module.context, ir.Location.unknown():
        run_pipeline(module.operation, [RECOGNIZE, "graph"])
        for op in module.body.operations[0].regions[0].blocks[0].operations:
            if tuning and op.operation.name in KERNELS:
                op.attributes["girih.tuning"] = ir.DictAttr.get(
                    {name: INT.encode(value) for name, value in tuning.items()}
                )
        run_pipeline(module.operation, ["device"])
        alone = ir.Module.create()
        for op in module.body.operations:
            if op.operation.name == "tile.kernel":
                op.operation.clone(ip=ir.InsertionPoint(alone.body))
        run_pipeline(alone.operation, ["tile{target=gpu}"])
        verifier.verify(alone)
    assert len(alone.body.operations) == 1
    return alone


def check(function, inputs, *, tolerance=2e-3, **tuning):
    """Compares the kernel's result with that of float64; returns its schedule."""
    alone = kernel_of(function, inputs, **tuning)
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    expected = function(*wide)
    y = torch.zeros(expected.shape, dtype=torch.float16)
    statistics = [np.zeros(math.prod(expected.shape[:-1]), np.float32)] * 2
    arrays = [x.contiguous().numpy().reshape(-1) for x in (*inputs, y)]
    with alone.context:
        assert run_kernel(alone, [*arrays, *statistics])
    torch.testing.assert_close(
        y.double(), expected, rtol=tolerance, atol=tolerance, equal_nan=True
    )
    return alone.body.operations[0].schedule


def random(*shapes, scale=1.0):
    return [(torch.randn(shape) * scale).half() for shape in shapes]


def plain(query, key, value):
    scores = query @ key.transpose(-2, -1) * 0.3
    return torch.softmax(scores, -1) @ value


def soft_capped(query, key, value):
    scores = query @ key.transpose(-2, -1) / 4.0
    return torch.softmax(5.0 * torch.tanh(scores / 5.0), -1) @ value


def biased(query, key, value, bias):
    return torch.softmax(query @ key.transpose(-2, -1) + bias, -1) @ value


def masked(query, key, value, mask):
    scores = query @ key.transpose(-2, -1)
    return torch.softmax(scores.masked_fill(mask, -math.inf), -1) @ value


def causal(query, key, value):
    scores = query @ key.transpose(-2, -1) * 0.25
    mask = torch.ones_like(scores, dtype=torch.bool).tril()
    return torch.softmax(scores.masked_fill(~mask, -math.inf), -1) @ value


@pytest.mark.parametrize("function", [plain, soft_capped, causal])
@pytest.mark.parametrize(
    ("rows", "columns", "widths"),
    [(1, 1, (16, 16)), (17, 131, (24, 16)), (131, 17, (40, 56)), (32, 300, (64, 1))],
)
def test_sizes(function, rows, columns, widths):
    width, of_value = widths
    shapes = [(1, 2, rows, width), (1, 2, columns, width), (1, 2, columns, of_value)]
    check(function, random(*shapes))


@pytest.mark.parametrize("width", [128, 256])
def test_wide_heads(width):
    check(plain, random(*[(1, 1, 70, width)] * 3, scale=0.5))


@pytest.mark.parametrize("shape", [(), (33,), (20, 33), (2, 1, 33), (2, 20, 1)])
def test_biases(shape):
    bias = random(shape)[0]
    check(biased, [*random((1, 2, 20, 16), (1, 2, 33, 16), (1, 2, 33, 16)), bias])


def test_rows_that_are_all_masked_are_nan_as_in_eager():
    mask = torch.rand(20, 33) < 0.5
    mask[3] = True
    mask[7, 1:] = True
    mask[7, 0] = False
    check(masked, [*random((1, 2, 20, 16), (1, 2, 33, 16), (1, 2, 33, 16)), mask])


def test_rows_masked_by_a_large_number_weigh_all_keys_equally():
    bias = torch.zeros(20, 33, dtype=torch.float16)
    bias[3] = torch.finfo(torch.float16).min
    bias[5, 10:] = torch.finfo(torch.float16).min
    inputs = random((1, 2, 20, 16), (1, 2, 33, 16), (1, 2, 33, 16), scale=0.05)
    check(biased, [*inputs, bias])


def test_no_keys_before_a_block_of_masked_ones():
    mask = torch.zeros(20, 300, dtype=torch.bool)
    mask[:, :280] = True
    check(masked, [*random((1, 2, 20, 16), (1, 2, 300, 16), (1, 2, 300, 16)), mask])


def test_large_scores():
    check(plain, random((1, 1, 20, 16), (1, 1, 33, 16), (1, 1, 33, 16), scale=20.0))


def test_symbols_are_not_needed_for_other_batches():
    inputs = random((3, 5, 16), (3, 7, 16), (3, 7, 32))
    check(plain, inputs)


def late(query, key, value):
    """Queries that are the last ones: they see the keys before them."""
    scores = query @ key.transpose(-2, -1) * 0.25
    ahead = torch.ones_like(scores, dtype=torch.bool).triu(91)
    return torch.softmax(scores.masked_fill(ahead, -math.inf), -1) @ value


def windowed(query, key, value):
    """A query sees itself and what is near."""
    scores = query @ key.transpose(-2, -1) * 0.25
    everything = torch.ones_like(scores, dtype=torch.bool)
    near = everything.tril(3) & everything.triu(-70)
    return torch.softmax(scores.masked_fill(~near, -math.inf), -1) @ value


@pytest.mark.parametrize(
    ("function", "rows", "columns", "bounds", "loops"),
    [
        (plain, 200, 256, 0, 1),
        (plain, 200, 200, 0, 2),
        (causal, 200, 200, 3, 2),
        (causal, 256, 256, 3, 2),
        (late, 110, 200, 3, 2),
        (windowed, 300, 300, 2, 1),
    ],
)
def test_blocks_that_no_query_sees_are_skipped(function, rows, columns, bounds, loops):
    """Blocks of which all is seen are walked first, without masks."""
    shapes = [(1, 1, rows, 16), (1, 1, columns, 16), (1, 1, columns, 16)]
    inputs = random(*shapes)
    check(function, inputs)
    text = str(kernel_of(function, inputs))
    assert text.count("arith.minsi") + text.count("arith.maxsi") == bounds
    assert text.count("scf.for") == loops


def test_a_mask_that_adds_a_large_number_skips_nothing():
    inputs = random((1, 1, 80, 16), (1, 1, 90, 16), (1, 1, 90, 16), scale=0.05)

    def far(query, key, value):
        scores = query @ key.transpose(-2, -1)
        mask = torch.ones_like(scores, dtype=torch.bool).tril(-1)
        return torch.softmax(scores.masked_fill(~mask, -60000.0), -1) @ value

    check(far, inputs)


def test_tuning_says_sizes():
    inputs = random((1, 1, 80, 16), (1, 1, 90, 16), (1, 1, 90, 16))
    text = check(causal, inputs, rows_rows=32, rows_columns=16, rows_stages=1)
    assert text == "attention: rows by blocks of 32 x 16, 4 warps, 1 stages"


def test_what_may_be_tuned():
    inputs = random((2, 4, 100, 128), (2, 4, 300, 128), (2, 4, 300, 128))
    module = import_graph(torch.fx.symbolic_trace(plain), inputs).module
    with module.context, ir.Location.unknown():
        run_pipeline(module.operation, [RECOGNIZE])
        ops = module.body.operations[0].regions[0].blocks[0].operations
        found = [tunable_attention(op, 232448) for op in ops]
        (attention,) = [each for each in found if each is not None]
    assert attention.name == "attention 2x4x100x300x128"
    assert attention.problem == Problem(256, 100, 300, 232448)
    settings = attention.settings("rows")
    assert {"rows_rows": 64, "rows_columns": 64, "rows_warps": 4, "rows_stages": 3} in (
        settings
    )


def test_sizes_fit_into_shared_memory():
    """Fewer loads in flight, then smaller blocks; each warp has 16 rows."""
    large = Problem(512, 4096, 4096, 232448)
    assert large.forward() == Sizes(128, 64, 8, 2)
    small = Problem(512, 4096, 4096, 100 << 10)
    assert small.forward() == Sizes(64, 64, 4, 1)
    assert Problem(32, 5, 20, 232448).forward() == Sizes(16, 32, 2, 3)
    assert all(s.stages < 3 for s in small.candidates("rows"))
