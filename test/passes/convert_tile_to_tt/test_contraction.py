"""A product of matrices with a loop and masks: its values, and what Triton makes."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from kernel_builder import KernelBuilder

from girih.dialects import tile, tt
from girih.dialects.bindings import ir
from girih.evaluation.kernels import run_kernel
from girih.passes.registry import run_pipeline

_BLOCKS = {"m": 128, "n": 128, "k": 64}
_COMPILE = """
import sys, triton
from triton.backends.compiler import GPUTarget
binary = triton.compile(
    sys.argv[1],
    target=GPUTarget("cuda", 90, 32),
    options={"num_warps": 8, "num_stages": 3},
)
assert binary.asm["cubin"]
print(binary.asm["ptx"])
"""


def _below(k: KernelBuilder, start, size: int, end) -> ir.Value:
    """The mask of the points of a block that lie before the end."""
    indices = f"vector<{size}xindex>"
    starts = k.op("vector.broadcast", indices, start)
    numbers = k.op("arith.addi", indices, starts, k.op("vector.step", indices))
    ends = k.op("vector.broadcast", indices, end)
    predicate = {"predicate": "2 : i64"}
    return k.op("arith.cmpi", f"vector<{size}xi1>", numbers, ends, **predicate)


def _product(element: str, m: int, n: int, depth: int, blocks: dict) -> ir.Module:
    """z[m, n] = x[m, k] @ y[k, n]: a program for each block of z, a loop over k."""
    k = KernelBuilder([element, element, "f32"])
    x, y, z = k.buffers
    bm, bn, bk = blocks["m"], blocks["n"], blocks["k"]
    one, sizes = k.index(1), [k.index(m), k.index(n), k.index(depth)]
    columns = k.index(-(-n // bn))
    zero = k.constant("dense<0.0>", f"vector<{bm}x{bn}xf32>")
    with k.grid(k.index(-(-m // bm) * -(-n // bn))) as program:
        row = k.op("arith.divui", "index", program, columns)
        column = k.op("arith.remui", "index", program, columns)
        top = k.op("arith.muli", "index", row, k.index(bm))
        left = k.op("arith.muli", "index", column, k.index(bn))
        rows, lanes = _below(k, top, bm, sizes[0]), _below(k, left, bn, sizes[1])
        sums = []
        with k.loop(k.index(0), sizes[2], bk, [zero], sums) as (start, inside, carried):
            begin = k.op("arith.muli", "index", top, sizes[2])
            begin = k.op("arith.addi", "index", begin, start)
            type_ = f"vector<{bm}x{bk}x{element}>"
            a = k.load(type_, x, begin, [sizes[2], one], [rows, inside])
            begin = k.op("arith.muli", "index", start, sizes[1])
            begin = k.op("arith.addi", "index", begin, left)
            type_ = f"vector<{bk}x{bn}x{element}>"
            b = k.load(type_, y, begin, [sizes[1], one], [inside, lanes])
            sums.append(tile.build("dot", [a, b, carried]).result)
        begin = k.op("arith.muli", "index", top, sizes[1])
        begin = k.op("arith.addi", "index", begin, left)
        k.store(sums[0], z, begin, [sizes[1], one], [rows, lanes])
    module = k.finish()
    grid = module.body.operations[0].block.operations[-1]
    for name, value in (("num_warps", 8), ("num_stages", 3)):
        with module.context:
            number = ir.IntegerType.get_signless(64)
            grid.attributes[name] = ir.IntegerAttr.get(number, value)
    return module


def test_values_of_a_product_with_ragged_edges():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 40)).astype(np.float32)
    y = rng.standard_normal((40, 37)).astype(np.float32)
    z = np.full((20, 37), np.nan, np.float32)
    module = _product("f32", 20, 37, 40, {"m": 16, "n": 16, "k": 32})
    assert run_kernel(module, [x.ravel(), y.ravel(), z.reshape(-1)])
    np.testing.assert_allclose(z, x @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton")
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_tensor_cores_compute_it(element, tmp_path):
    module = _product(element, 1000, 1000, 520, _BLOCKS)
    with module.context, ir.Location.unknown():
        run_pipeline(module, "convert-tile-to-tt{aligned=true}")
        (text,) = tt.program_texts(module).values()
    path = tmp_path / "k.ttir"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", _COMPILE, path],
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "wgmma.mma_async" in done.stdout
    assert "cp.async" in done.stdout
