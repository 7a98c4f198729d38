"""Objects compiled, kept as bytes and linked again."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from kernel_builder import KernelBuilder
from kernel_harness import Kernels, compile_kernels

from girih.codegen.cpu.errors import CodegenError
from girih.codegen.cpu.link import link
from girih.codegen.cpu.symbols import own_symbols, resolve
from girih.codegen.cpu.target import host_target


@pytest.fixture(scope="module")
def doubled():
    """y = 2 * pow(x, 1), in parallel where it is worth it."""
    k = KernelBuilder(["f64", "f64"], ["s0"])
    (x, y), (size,) = k.buffers, k.symbols
    with k.grid(size, size) as program:
        value = k.load("f64", x, program)
        value = k.op("math.powf", "f64", value, k.constant("1.0", "f64"))
        k.store(k.op("arith.addf", "f64", value, value), y, program)
    return compile_kernels(k.finish())


def _relinked(kernels: Kernels) -> Kernels:
    code = kernels.code
    symbols = own_symbols() | resolve(code.imports, {})
    return Kernels(kernels.module, code, link(code.data, code.exports, symbols))


def test_interface(doubled):
    assert doubled.code.exports == ("k",)
    assert doubled.code.imports == ("pow",)


@pytest.mark.parametrize("size", [5, 100_000])
def test_linked_again_it_computes_the_same(doubled, size):
    x = np.random.default_rng(0).random(size)
    for kernels in (doubled, _relinked(doubled)):
        y = np.zeros(size)
        kernels.call("k", [x, y], [size])
        np.testing.assert_array_equal(y, 2 * x)


def _is_mapped(address: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        if low <= address < high:
            return True
    return False


def test_code_is_freed_with_its_last_reference(doubled):
    library = link(doubled.code.data, ["k"], own_symbols() | resolve(["pow"], {}))
    address = library.address("k")
    assert _is_mapped(address)
    del library
    assert not _is_mapped(address)


def test_code_is_not_writable(doubled):
    """Of our library alone: other libraries in the process do as they like."""
    doubled.call("k", [np.ones(1), np.ones(1)], [1])
    address = doubled.library.address("k")
    holders = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        limits, permissions = line.split()[:2]
        start, end = (int(limit, 16) for limit in limits.split("-"))
        if start <= address < end:
            holders.append(permissions)
    assert holders == ["r-xp"]


def test_damaged_objects_are_refused_or_harmless(doubled):
    """No damage to the file's tables makes the loader leave its bounds."""
    data, symbols = doubled.code.data, own_symbols() | resolve(["pow"], {})
    generator = np.random.default_rng(0)
    outcomes = set()
    for _ in range(3000):
        damaged = bytearray(data)
        for position in generator.integers(0, len(data), generator.integers(1, 4)):
            damaged[position] = generator.integers(0, 256)
        outcomes.add(_outcome(bytes(damaged), symbols))
    for size in range(0, len(data), 7):
        outcomes.add(_outcome(data[:size], symbols))
    assert outcomes == {"loaded", "refused"}


def _outcome(data, symbols):
    try:
        link(data, ["k"], symbols)
    except CodegenError:
        return "refused"
    return "loaded"


def test_what_is_no_object_is_refused():
    with pytest.raises(CodegenError, match="linking failed"):
        link(b"nonsense", ["k"], {})


def test_unknown_functions_are_named():
    with pytest.raises(CodegenError, match="exports no_such_function_a, no_such_func"):
        resolve(["pow", "no_such_function_b", "no_such_function_a"], {})


def test_given_addresses_win():
    address = ctypes.cast(ctypes.CDLL(None).cos, ctypes.c_void_p).value
    assert resolve(["sin"], {"sin": address}) == {"sin": address}


def test_unknown_exports_are_an_error(doubled):
    symbols = own_symbols() | resolve(["pow"], {})
    with pytest.raises(CodegenError, match="linking failed"):
        link(doubled.code.data, ["k", "missing"], symbols)


def test_host_target_is_stable():
    assert host_target() is host_target()
    assert host_target().vector_bits in (128, 256, 512)
    assert len(host_target().fingerprint) == 64


def test_internal_functions_are_compiled_with_those_that_call_them():
    """A run of two kernels, as the driver makes it."""
    text = """
llvm.func internal @k(%a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr) {
  %0 = llvm.mlir.constant(7 : i32) : i32
  llvm.store %0, %c : i32, !llvm.ptr
  llvm.return
}
llvm.func @run0(%a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr) {
  llvm.call @k(%a, %b, %c) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
"""
    kernels = compile_kernels(text)
    assert kernels.code.exports == ("run0",)
    assert kernels.call("run0", []) == 7
