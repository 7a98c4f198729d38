"""Sizes of symbols: how many programs a grid has, and what its programs compute."""

import numpy as np
from hypothesis import given, settings
from kernel_builder import KernelBuilder
from size_expressions import EXPRESSIONS, SYMBOLS, VALUES

from girih.dialects.dims import evaluate, parse
from girih.evaluation.kernels import run_kernel
from girih.passes.registry import run_pipeline

_BOUNDED = settings(max_examples=200, deadline=None, derandomize=True)


@_BOUNDED
@given(EXPRESSIONS, VALUES)
def test_grids_have_as_many_programs(expression, values):
    k = KernelBuilder(["i64"], SYMBOLS)
    with k.grid(k.size(expression.size)):
        pass
    module = k.finish()
    run_pipeline(module, "convert-tile-to-tt")
    launch = module.body.operations[0].attributes["girih.launch"]
    count = parse(launch["grid"].value)
    assert evaluate(count, values) == expression.compute(values)


@_BOUNDED
@given(EXPRESSIONS, VALUES)
def test_programs_compute_sizes(expression, values):
    k = KernelBuilder(["i64"], SYMBOLS)
    one, size = k.index(1), k.size(expression.size)
    with k.grid(one, num_warps=1):
        k.store(k.op("arith.index_cast", "i64", size), k.buffers[0], k.index(0))
    found = np.zeros(1, dtype=np.int64)
    assert run_kernel(k.finish(), [found], [values[name] for name in SYMBOLS])
    assert found[0] == expression.compute(values)
