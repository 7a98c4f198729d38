"""Fused multiply-adds that are written out are those of the processor, nearly."""

import ctypes

import numpy as np
import pytest
import torch

import girih
from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.fma import write_out_fma
from girih.codegen.cpu.target import LEVELS, host_target
from girih.dialects import context
from girih.dialects.bindings import ir
from girih.packaging import container

MODULE = """
llvm.func @f(%x: !llvm.ptr, %y: !llvm.ptr, %z: !llvm.ptr) {{
  %a = llvm.load %x : !llvm.ptr -> {0}
  %b = llvm.load %y : !llvm.ptr -> {0}
  %c = llvm.load %z : !llvm.ptr -> {0}
  %d = "llvm.intr.fma"(%a, %b, %c) : ({0}, {0}, {0}) -> {0}
  llvm.store %d, %z : {0}, !llvm.ptr
  llvm.return
}}
"""


def written_out(type):
    module = ir.Module.parse(MODULE.format(type), context.shared())
    write_out_fma(module)
    assert module.operation.verify()
    return module


@pytest.mark.parametrize("type", ["f32", "vector<4xf32>"])
def test_float32_is_written_out(type):
    text = str(written_out(type))
    assert "fma" not in text and "llvm.fmul" in text


@pytest.mark.parametrize("type", ["f64", "vector<2xf64>", "f16"])
def test_others_stay(type):
    text = str(written_out(type))
    assert "fma" in text and "llvm.fmul" not in text


def test_results():
    """Cancellation, infinities, NaN, zeros of both signs, subnormals, large numbers."""
    _, library = compile_module(written_out("f32"))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(library.address("f"))
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -1, 1 + 2**-23]
    )
    random = np.random.default_rng(0)
    cases = [special[random.integers(len(special), size=3)] for _ in range(500)]
    cases += list(random.standard_normal((500, 3)))
    for case in cases:
        x, y, z = (np.array([value], np.float32) for value in case)
        with np.errstate(all="ignore"):
            exact = x.astype(np.longdouble) * y.astype(np.longdouble) + z
            wanted = exact.astype(np.float64).astype(np.float32)
        function(*(each.ctypes.data for each in (x, y, z)))
        np.testing.assert_array_max_ulp(z, wanted, maxulp=0)
        assert np.isnan(z) or np.signbit(z) == np.signbit(wanted)


def remainders(x):
    return (torch.remainder(x, 0.3), (x / 3).exp(), torch.nn.functional.gelu(x))


def test_no_call_is_left_in_packages_for_old_processors(tmp_path):
    if not LEVELS["x86-64-v2"] <= host_target().flags:
        pytest.skip("the processor has no SSE4.2")
    x = torch.cat([torch.linspace(-20, 20, 1013), torch.tensor([0.0, float("nan")])])
    path = girih.package(remainders, (x,), path=tmp_path / "p", targets=("x86-64-v2",))
    assert b"fmaf" not in bytes(container.read(path).parts["kernels.o"])
    for found, wanted in zip(girih.load(path)(x), remainders(x), strict=True):
        torch.testing.assert_close(found, wanted, equal_nan=True)
