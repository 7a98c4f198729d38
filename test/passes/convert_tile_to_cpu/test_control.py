"""Grids, loops, local buffers and checks of compiled kernels."""

import numpy as np
import pytest
from kernel_builder import KernelBuilder
from kernel_harness import compile_kernels

from girih.dialects import context, tile
from girih.dialects.bindings import ir
from girih.passes.registry import run_pipeline

WIDTH = 16


def _sum_kernel(low=None, high=None):
    """y[0] = the sum of x[low:high], carried through a loop."""
    k = KernelBuilder(["f32", "f32"], ["s0", "s1"])
    (x, y), (first, last) = k.buffers, k.symbols
    low = first if low is None else k.index(low)
    high = last if high is None else k.index(high)
    zero = k.constant("dense<0.0>", "vector<16xf32>")
    results = []
    with k.loop(low, high, WIDTH, [zero], results) as (i, mask, total):
        value = k.load("vector<16xf32>", x, i, [k.index(1)], [mask])
        results.append(k.op("arith.addf", "vector<16xf32>", total, value))
    kind = "#vector.kind<add>"
    total = k.op("vector.reduction", "f32", results[0], kind=kind)
    k.store(total, y, k.index(0))
    return compile_kernels(k.finish())


def test_loop_carries_values():
    kernels = _sum_kernel()
    x = np.arange(200, dtype=np.float32)
    y = np.zeros(1, np.float32)
    for low, high in [(0, 0), (0, 16), (3, 4), (5, 100), (10, 5), (10, -40)]:
        kernels.call("k", [x, y], [low, high])
        assert y[0] == x[low : max(high, 0)].sum()


@pytest.mark.parametrize("high", [0, 5, 16, 32, 37])
def test_loop_with_static_bounds(high):
    kernels = _sum_kernel(0, high)
    x, y = np.arange(200, dtype=np.float32), np.zeros(1, np.float32)
    kernels.call("k", [x, y], [0, 0])
    assert y[0] == x[:high].sum()


@pytest.mark.parametrize("work", [1, 1 << 20, None])
def test_grid_runs_each_program_once(work):
    k = KernelBuilder(["i32"], ["s0"])
    (y,), (count,) = k.buffers, k.symbols
    amount = count if work is None else k.index(work)
    with k.grid(count, amount) as program:
        old = k.load("i32", y, program)
        number = k.op("arith.index_cast", "i32", program)
        k.store(k.op("arith.addi", "i32", old, number), y, program)
    kernels = compile_kernels(k.finish(), options={"convert-tile-to-cpu": _LOW})
    for size in [0, 1, 2, 3, 101]:
        y = np.full(size, 7, np.int32)
        kernels.call("k", [y], [size])
        np.testing.assert_array_equal(y, 7 + np.arange(size))


_LOW = "parallel-threshold=2"


def test_grids_run_one_after_the_other_and_share_the_workspace():
    """Partial sums of rows, then their sum."""
    k = KernelBuilder(["f32", "f32"], ["s0"])
    (x, y), (count,) = k.buffers, k.symbols
    partial = k.local("workspace", "f32", 64)
    with k.grid(count, k.index(1 << 20)) as program:
        row = k.op("arith.muli", "index", program, k.index(WIDTH))
        scratch = k.local("scratch", "f32", WIDTH)
        value = k.load("vector<16xf32>", x, row, [k.index(1)])
        k.store(value, scratch, k.index(0), [k.index(1)])
        backwards = k.load("vector<16xf32>", scratch, k.index(15), [k.index(-1)])
        kind = "#vector.kind<add>"
        total = k.op("vector.reduction", "f32", backwards, kind=kind)
        k.store(total, partial, program)
    with k.grid(k.index(1)):
        results = []
        zero = k.constant("dense<0.0>", "vector<16xf32>")
        with k.loop(k.index(0), count, WIDTH, [zero], results) as (i, mask, total):
            value = k.load("vector<16xf32>", partial, i, [k.index(1)], [mask])
            results.append(k.op("arith.addf", "vector<16xf32>", total, value))
        total = k.op("vector.reduction", "f32", results[0], kind="#vector.kind<add>")
        k.store(total, y, k.index(0))
    kernels = compile_kernels(k.finish())
    x, y = np.arange(16 * 60, dtype=np.float32), np.zeros(1, np.float32)
    for rows in [1, 2, 33, 60]:
        kernels.call("k", [x, y], [rows])
        assert y[0] == x[: rows * 16].sum()


def test_check_sets_the_status():
    k = KernelBuilder(["i1", "f32"], ["s0"])
    (x, _), (count,) = k.buffers, k.symbols
    with k.loop(k.index(0), count, WIDTH) as (i, mask):
        ok = k.load("vector<16xi1>", x, i, [k.index(1)], [mask])
        tile.build("check", [ok, mask])
    kernels = compile_kernels(k.finish())
    y = np.zeros(1, np.float32)
    x = np.ones(40, np.bool_)
    assert kernels.call("k", [x, y], [37]) == 0
    x[38] = False
    assert kernels.call("k", [x, y], [38]) == 0
    assert kernels.call("k", [x, y], [39]) == 1
    x[38], x[4] = True, False
    assert kernels.call("k", [x, y], [37]) == 1


@pytest.mark.parametrize("dims", [[0], [1], [0, 1]])
@pytest.mark.parametrize("kind", ["add", "maximumf"])
def test_multi_reduction(dims, kind):
    k = KernelBuilder(["f32", "f32"])
    x, y = k.buffers
    zero, one = k.index(0), k.index(1)
    value = k.load("vector<16x16xf32>", x, zero, [k.index(16), one])
    type_ = "f32" if len(dims) == 2 else "vector<16xf32>"
    start = "1.0" if len(dims) == 2 else "dense<1.0>"
    reduced = k.op(
        "vector.multi_reduction",
        type_,
        value,
        k.constant(start, type_),
        kind=f"#vector.kind<{kind}>",
        reduction_dims=f"array<i64: {', '.join(map(str, dims))}>",
    )
    k.store(reduced, y, zero, [] if len(dims) == 2 else [one])
    kernels = compile_kernels(k.finish())
    x = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    y = np.zeros(16, np.float32)
    kernels.call("k", [x, y])
    axes = tuple(dims)
    expected = 1 + x.sum(axes) if kind == "add" else np.maximum(x.max(axes), 1)
    shown = y[0] if len(dims) == 2 else y
    np.testing.assert_allclose(shown, expected, rtol=1e-5)


def test_the_kernels_of_a_run_do_not_add_up_their_local_buffers():
    """40 launches with 1 MiB each fit on a stack of 8 MiB."""
    k = KernelBuilder(["f32"])
    (y,) = k.buffers
    big, zero = k.local("workspace", "f32", 1 << 18), k.index(0)
    k.store(k.load("f32", y, zero), big, zero)
    one = k.constant("1.0", "f32")
    total = k.op("arith.addf", "f32", k.load("f32", big, zero), one)
    k.store(total, y, zero)
    module = k.finish()
    launch = '"host.launch"(%a) {kernel = @k, outputs = 1 : i64, symbols = []} : '
    type_ = "!tile.buffer<f32, [1], [1]>"
    text = f"""
func.func @main(%a: {type_}) {{
  "host.native"() ({{
    {(launch + f"({type_}) -> ()") * 40}
  }}) : () -> ()
  "host.return"() : () -> ()
}}
{"".join(str(op) for op in module.body.operations)}
"""
    with context.current(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module, "convert-tile-to-cpu")
        module.body.operations[0].operation.erase()
    y = np.zeros(1, np.float32)
    assert compile_kernels(module).call("run0", [y]) == 0
    assert y[0] == 40
