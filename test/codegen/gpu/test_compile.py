"""Triton IR becomes code for NVIDIA's and AMD's GPUs, without either being there."""

import os
import re

import pytest
import torch
from emulated_device import RecordingDevice, emulated_device
from processes import run_python
from triton_texts import ADD

import girih
from girih.codegen.errors import CodegenError
from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.cache import BinaryCache
from girih.codegen.gpu.compile import (
    KernelOptions,
    KernelText,
    assembly,
    compile_kernels,
)
from girih.codegen.gpu.target import cuda_target, parse_target

ELF = b"\x7fELF"


@pytest.fixture(autouse=True)
def _triton():
    pytest.importorskip("triton", reason="Triton compiles the kernels")


@pytest.mark.parametrize(
    ("target", "threads"), [("sm_80", 256), ("sm_90", 256), ("gfx942", 512)]
)
def test_one_kernel(target, threads):
    kernel = KernelText("add_0", ADD, KernelOptions(num_warps=8))
    (binary,) = compile_kernels([kernel], parse_target(target))
    assert binary.data.startswith(ELF)
    assert (binary.name, binary.target, binary.threads) == ("add_0", target, threads)
    assert binary.shared_bytes == 0


def test_no_element_of_a_vector_overflows_into_another():
    """In this product, LLVM shifts a pair of numbers, one of them out of its bits."""
    with emulated_device(RecordingDevice) as device:
        run = girih.compile(torch.matmul, options={"fallback": False})
        run(torch.empty(15, 67, 67), torch.empty(15, 67, 65))
    (kernel,) = device.kernels
    text = assembly(kernel, parse_target("sm_90"))
    assert "mul.wide" in text
    assert not re.search(r"mul\.wide\.u32 .* 2147483648", text)


def test_many_kernels_in_threads_keep_their_order():
    kernels = [KernelText(f"k{i}", ADD.replace("add_0", f"k{i}")) for i in range(8)]
    binaries = compile_kernels(kernels, cuda_target(9, 0))
    assert [binary.name for binary in binaries] == [f"k{i}" for i in range(8)]
    alone = compile_kernels(kernels[3:4], cuda_target(9, 0))
    assert alone == binaries[3:4]


def test_kernels_are_kept_on_disk(tmp_path, monkeypatch):
    kernel, target = KernelText("add_0", ADD), cuda_target(9, 0)
    made = compile_kernels([kernel], target, cache_folder=tmp_path)
    monkeypatch.setattr("girih.codegen.gpu.compile._compile", None)
    assert compile_kernels([kernel], target, cache_folder=tmp_path) == made
    other = KernelText("add_0", ADD, KernelOptions(num_warps=2))
    with pytest.raises(TypeError):
        compile_kernels([other], target, cache_folder=tmp_path)


def test_a_refused_kernel_leaves_its_text(tmp_path):
    kernel = KernelText("add_0", ADD.replace("arith.addf", "arith.addx"))
    with pytest.raises(CodegenError, match=r"add_0 for sm_90") as caught:
        compile_kernels([kernel], cuda_target(9, 0), reproducer_folder=tmp_path)
    (path,) = tmp_path.iterdir()
    assert str(path) in str(caught.value)
    assert "arith.addx" in path.read_text()


def test_a_function_of_another_name_is_refused(tmp_path):
    with pytest.raises(CodegenError, match="got add_0"):
        compile_kernels(
            [KernelText("other", ADD)], cuda_target(9, 0), reproducer_folder=tmp_path
        )


def test_no_compiler_is_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    (tmp_path / "k.ttir").write_text(ADD)
    run_python(
        """
        import sys
        from pathlib import Path
        from girih.codegen.gpu.compile import KernelText, compile_kernels
        from girih.codegen.gpu.target import parse_target

        assert "triton" not in sys.modules
        kernel = KernelText("add_0", Path(sys.argv[1]).read_text())
        for name in ("sm_90", "gfx942"):
            assert compile_kernels([kernel], parse_target(name))
        """,
        str(tmp_path / "k.ttir"),
    )
    assert not os.path.exists(tmp_path / "triton")


def test_a_binary_survives_the_disk(tmp_path):
    binary = Binary(b"\x7fELF\n{}", "k", "sm_90", 128, 65536, 2)
    cache = BinaryCache(tmp_path)
    cache.store("a", binary)
    assert cache.load("a") == binary
